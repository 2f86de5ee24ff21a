#pragma once
// Attention on a CUDA device (attention.cuh), described as data.

#include "core/device_reference.hpp"

namespace gla_bench::attention {

/// The device reference of attention and decay_attention, in both directions.
DeviceReference device_reference();

}  // namespace gla_bench::attention
