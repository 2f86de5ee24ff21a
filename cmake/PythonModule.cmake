# Python's module gla_bench._core: the program as a library, so that workers which call functions of Python
# can run inside the interpreter. The build does without it, and says so, where nanobind or Python's headers
# are missing. nanobind is looked for in Python's own packages and in build-python/ (scripts/setup.sh).

# Sets GLA_BENCH_WITH_PYTHON, and makes all code such that a shared library can hold it.
macro(gla_bench_find_nanobind)
  set(GLA_BENCH_WITH_PYTHON FALSE)
  if(GLA_BENCH_PYTHON AND NOT GLA_BENCH_FUZZ AND NOT GLA_BENCH_SANITIZE)
    find_package(Python 3.9 COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT} QUIET)
    set(why "no Python 3.9 or newer with its headers")
    if(Python_FOUND)
      execute_process(
        COMMAND ${CMAKE_COMMAND} -E env --modify
                PYTHONPATH=path_list_append:${CMAKE_SOURCE_DIR}/build-python
                ${Python_EXECUTABLE} -m nanobind --cmake_dir
        OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      set(why "${Python_EXECUTABLE} has no nanobind")
      if(nanobind_ROOT)
        find_package(nanobind CONFIG QUIET)
        set(GLA_BENCH_WITH_PYTHON ${nanobind_FOUND})
      endif()
    endif()
    if(NOT GLA_BENCH_WITH_PYTHON)
      message(STATUS "Without Python's module, ${why}: functions of Python cannot be candidates")
    endif()
  endif()
  if(GLA_BENCH_WITH_PYTHON)
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    add_compile_options(-fvisibility=hidden -fvisibility-inlines-hidden)
  endif()
endmacro()

# build/python/gla_bench/ is the package as a build without installation has it.
function(gla_bench_add_python_module)
  if(NOT GLA_BENCH_WITH_PYTHON)
    return()
  endif()
  nanobind_add_module(gla_bench_python NB_STATIC STABLE_ABI ${CMAKE_SOURCE_DIR}/python/core.cpp
                      ${CMAKE_SOURCE_DIR}/python/ops.cpp)
  target_link_libraries(gla_bench_python PRIVATE gla_bench_harness_commands nlohmann_json::nlohmann_json)
  # Nothing of it is seen from outside, where another module may have the same libraries.
  target_link_options(gla_bench_python PRIVATE LINKER:--exclude-libs,ALL)
  set(package ${CMAKE_BINARY_DIR}/python/gla_bench)
  set_target_properties(gla_bench_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${package})
  file(MAKE_DIRECTORY ${package})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/gla_bench/*.py)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME)
    file(CREATE_LINK ${source} ${package}/${name} SYMBOLIC)
  endforeach()
  if(SKBUILD)  # pip's own build; other installations are of the program alone
    install(TARGETS gla_bench_python LIBRARY DESTINATION .)
  endif()
endfunction()
