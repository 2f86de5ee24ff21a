#pragma once
// One maker for each variant. Its argument is the operator to make it for. variants.cpp lists them
// all.

#include <string_view>

#include "core/variant.hpp"

namespace gla_bench::softmax_attention {

// CUDA, forward (each in <name>.cpp next to <name>.cuh, or in the file named here)
Variant three_pass(std::string_view op);         // softmax_rows.cpp
Variant online(std::string_view op);             // softmax_rows.cpp
Variant online_blocked(std::string_view op);     // softmax_rows.cpp
Variant materialized(std::string_view op);       // materialized.cpp
Variant flash1(std::string_view op);             // flash.cpp
Variant flash2(std::string_view op);             // flash.cpp
Variant flash_decoding(std::string_view op);     // flash_decoding.cpp
Variant flash_decoding_pp(std::string_view op);  // flash_decoding.cpp

// CUDA, backward (backward_<name>.cpp; both orders of flash2 share one)
Variant backward_materialized(std::string_view op);
Variant backward_flash2(std::string_view op);
Variant backward_flash2_deterministic(std::string_view op);

// Host
Variant host_three_pass(std::string_view op);                     // host/softmax.cpp
Variant host_online(std::string_view op);                         // host/softmax.cpp
Variant host_online_blocked(std::string_view op);                 // host/softmax.cpp
Variant host_materialized(std::string_view op);                   // host/materialized.cpp
Variant host_flash1(std::string_view op);                         // host/flash.cpp
Variant host_flash2(std::string_view op);                         // host/flash.cpp
Variant host_flash_decoding(std::string_view op);                 // host/flash_decoding.cpp
Variant host_flash_decoding_pp(std::string_view op);              // host/flash_decoding.cpp
Variant host_backward_materialized(std::string_view op);          // host/backward_materialized.cpp
Variant host_backward_flash2(std::string_view op);                // host/backward.cpp
Variant host_backward_flash2_deterministic(std::string_view op);  // host/backward.cpp

}  // namespace gla_bench::softmax_attention
