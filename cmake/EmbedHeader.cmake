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
  target_sources(${target} PRIVATE ${text})
endfunction()
