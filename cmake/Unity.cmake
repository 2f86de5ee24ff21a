# Compiles the sources of a folder as a few large files, since most of a small source's time goes to
# the headers that it shares with its neighbours. Sources of one folder may therefore not define two
# different things by one name, even in unnamed namespaces; those of different folders may.
option(GLA_BENCH_UNITY "Compile the sources of a folder together (faster from nothing)" ON)

# The most sources that become one: more would save little, and keep one core waiting for the other.
set(GLA_BENCH_UNITY_MOST 8)

# Groups those sources of `target` that lie below the source tree and have no options of their own.
function(gla_bench_unity target)
  if(NOT GLA_BENCH_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(folders "")
  foreach(source IN LISTS sources)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(source MATCHES "^${CMAKE_SOURCE_DIR}/(.+)/[^/]+$" AND NOT alone)
      string(MAKE_C_IDENTIFIER ${CMAKE_MATCH_1} folder)
      list(APPEND folders ${folder})
      list(APPEND sources_${folder} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH sources_${folder} count)
    math(EXPR groups "(${count} + ${GLA_BENCH_UNITY_MOST} - 1) / ${GLA_BENCH_UNITY_MOST}")
    set(index 0)
    foreach(source IN LISTS sources_${folder})
      math(EXPR group "${index} * ${groups} / ${count}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
