#pragma once
// Attention on a CUDA device (attention.cuh), as data.

#include "core/device_reference.hpp"

namespace gla_bench::attention {

/// Of attention and decay_attention, both directions.
DeviceReference device_reference();

}  // namespace gla_bench::attention
