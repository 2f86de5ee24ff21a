# Puts the report's page (page/) inside the binary: esbuild makes one script of its modules and of d3,
# the script and the style sheet go into the skeleton, and what stands before and behind the place
# of the data becomes a source file. Without the page the source file says so.
function(gla_bench_embed_page target)
  set(table ${CMAKE_BINARY_DIR}/embedded_page.cpp)
  find_program(GLA_BENCH_ESBUILD esbuild)
  find_path(GLA_BENCH_NODE_MODULES d3/index.js PATHS /usr/share/nodejs /usr/lib/node_modules)
  if(GLA_BENCH_PAGE AND NOT (GLA_BENCH_ESBUILD AND GLA_BENCH_NODE_MODULES))
    message(STATUS "No esbuild or node-d3: building without the page of report --html")
    set(GLA_BENCH_PAGE OFF PARENT_SCOPE)
    set(GLA_BENCH_PAGE OFF)
  endif()
  if(NOT GLA_BENCH_PAGE)
    file(CONFIGURE OUTPUT ${table} CONTENT "#include \"harness/report/page/page.hpp\"

namespace gla_bench {

PageShell embedded_page() { return {}; }

}  // namespace gla_bench
" @ONLY)
    gla_bench_link_page(${target} ${table})
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/page/*.js
       ${CMAKE_SOURCE_DIR}/page/*.css ${CMAKE_SOURCE_DIR}/page/*.html)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(writer ${CMAKE_SOURCE_DIR}/cmake/write_embedded_page.py)
  set(folder ${CMAKE_BINARY_DIR}/page)
  add_custom_command(
    OUTPUT ${table}
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${GLA_BENCH_NODE_MODULES} ${GLA_BENCH_ESBUILD}
            ${CMAKE_SOURCE_DIR}/page/main.js --bundle --minify --format=iife --target=es2019
            --legal-comments=none --log-level=warning --outfile=${folder}/page.js
    COMMAND ${GLA_BENCH_ESBUILD} ${CMAKE_SOURCE_DIR}/page/page.css --minify
            --log-level=warning --outfile=${folder}/page.css
    COMMAND Python3::Interpreter ${writer} ${CMAKE_SOURCE_DIR}/page/index.html ${folder} ${table}
    DEPENDS ${sources} ${writer}
    COMMENT "Embedding the report's page"
    VERBATIM)
  gla_bench_link_page(${target} ${table})
endfunction()

# A library of its own: what makes a source of a target waits for every library below that target.
function(gla_bench_link_page target table)
  add_library(gla_bench_embedded_page STATIC ${table})
  target_include_directories(gla_bench_embedded_page PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE gla_bench_embedded_page)
endfunction()
