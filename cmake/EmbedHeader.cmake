# Puts the text of harness/tuned_table/nearest.h inside the binary, which writes it into the headers
# that it exports. It stays apart from the kernels' sources, of which it is none.
function(gla_bench_embed_header target)
  set(header ${CMAKE_SOURCE_DIR}/harness/tuned_table/nearest.h)
  set(text ${CMAKE_BINARY_DIR}/embedded_nearest.cpp)
  set(writer ${CMAKE_SOURCE_DIR}/cmake/WriteEmbeddedHeader.cmake)
  add_custom_command(
    OUTPUT ${text}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DTEXT=${text} -P ${writer}
    DEPENDS ${header} ${writer}
    COMMENT "Embedding the header of tuned tables"
    VERBATIM)
  # A library of its own: what makes a source of a target waits for every library below that target.
  add_library(gla_bench_embedded_nearest STATIC ${text})
  target_include_directories(gla_bench_embedded_nearest PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE gla_bench_embedded_nearest)
endfunction()
