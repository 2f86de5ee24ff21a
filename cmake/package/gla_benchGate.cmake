# Adds a test that judges results files with `gla-bench gate`: it fails on a record that is not verified
# as asked, and with a baseline on errors that have grown.
#
#   gla_bench_add_gate(NAME <test> RECORDS <file>... [BASELINE <file>] [JUNIT <file>] [REQUIRE_FRESH])
#
# Relative files are taken from the current source folder, JUNIT's from the current binary folder.
# REQUIRE_FRESH: records of sources that have changed since then fail, instead of a warning.
function(gla_bench_add_gate)
  cmake_parse_arguments(PARSE_ARGV 0 gate "REQUIRE_FRESH" "NAME;BASELINE;JUNIT" "RECORDS")
  if(gate_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gla_bench_add_gate: unknown arguments: ${gate_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT gate_NAME OR NOT gate_RECORDS)
    message(FATAL_ERROR "gla_bench_add_gate: NAME and RECORDS are required")
  endif()
  set(arguments "")
  foreach(file IN LISTS gate_RECORDS)
    get_filename_component(file "${file}" ABSOLUTE)
    list(APPEND arguments "${file}")
  endforeach()
  if(gate_BASELINE)
    get_filename_component(file "${gate_BASELINE}" ABSOLUTE)
    list(APPEND arguments --baseline "${file}")
  endif()
  if(gate_JUNIT)
    get_filename_component(file "${gate_JUNIT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    list(APPEND arguments --junit "${file}")
  endif()
  if(gate_REQUIRE_FRESH)
    list(APPEND arguments --require-fresh)
  endif()
  add_test(NAME "${gate_NAME}" COMMAND gla_bench::gla-bench gate ${arguments})
endfunction()
