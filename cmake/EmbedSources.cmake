# Puts the text of the kernels' sources inside the binary, so that it needs no source tree at run time.
# A changed source regenerates the table at build time; an added one re-globs (CONFIGURE_DEPENDS).
function(gla_bench_embed_sources target)
  file(GLOB_RECURSE sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/kernels/*.cuh ${CMAKE_SOURCE_DIR}/kernels/*.h
    ${CMAKE_SOURCE_DIR}/kernels/*.hpp ${CMAKE_SOURCE_DIR}/kernels/*.cpp
    ${CMAKE_SOURCE_DIR}/reference/*.cuh ${CMAKE_SOURCE_DIR}/reference/*.h
    ${CMAKE_SOURCE_DIR}/harness/backends/cuda/*.cuh
    ${CMAKE_SOURCE_DIR}/harness/selftest/*.cuh ${CMAKE_SOURCE_DIR}/harness/selftest/*.h
    ${CMAKE_SOURCE_DIR}/configs/tolerance.json ${CMAKE_SOURCE_DIR}/configs/schema/*.json)
  # These two are made by the program itself.
  list(FILTER sources EXCLUDE REGEX "configs/schema/(config|results)\\.schema")
  list(SORT sources)
  set(list_file ${CMAKE_BINARY_DIR}/embedded_sources.txt)
  set(table ${CMAKE_BINARY_DIR}/embedded_sources.cpp)
  set(writer ${CMAKE_SOURCE_DIR}/cmake/WriteEmbeddedSources.cmake)
  string(JOIN "\n" list_text ${sources})
  file(GENERATE OUTPUT ${list_file} CONTENT "${list_text}\n")  # leaves an unchanged file alone
  set(paths ${sources})
  list(TRANSFORM paths PREPEND ${CMAKE_SOURCE_DIR}/)
  add_custom_command(
    OUTPUT ${table}
    COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DLIST=${list_file} -DTABLE=${table} -P
            ${writer}
    DEPENDS ${paths} ${list_file} ${writer}
    COMMENT "Embedding kernel sources"
    VERBATIM)
  # A library of its own: what makes a source of a target waits for every library below that target.
  add_library(gla_bench_embedded_sources STATIC ${table})
  target_include_directories(gla_bench_embedded_sources PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE gla_bench_embedded_sources)
endfunction()
