# `cmake --install` and the Debian package (`cpack -G DEB`): the program, its data, what it says about
# itself, and a package for other CMake projects. The program finds its data from its own place, so the
# folders bin, libexec and share keep these names and an installation may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(data_dir share/gla-bench)
install(TARGETS gla-bench DESTINATION bin)
if(TARGET gla-bench-google)
  install(TARGETS gla-bench-google DESTINATION libexec/gla-bench)
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/configs DESTINATION ${data_dir} FILES_MATCHING PATTERN *.json)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/results/tuned DESTINATION ${data_dir}
        FILES_MATCHING PATTERN *.json)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN *.md)

# The program prints its own manual page and completions, so they are as new as the program.
set(printed ${CMAKE_BINARY_DIR}/printed)
file(MAKE_DIRECTORY ${printed})
add_custom_command(TARGET gla-bench POST_BUILD
                   COMMAND gla-bench manual > ${printed}/gla-bench.1
                   COMMAND gla-bench completion bash > ${printed}/gla-bench
                   COMMAND gla-bench completion zsh > ${printed}/_gla-bench
                   COMMAND gla-bench completion fish > ${printed}/gla-bench.fish VERBATIM)
install(FILES ${printed}/gla-bench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${printed}/gla-bench DESTINATION share/bash-completion/completions)
install(FILES ${printed}/_gla-bench DESTINATION share/zsh/site-functions)
install(FILES ${printed}/gla-bench.fish DESTINATION share/fish/vendor_completions.d)

# find_package(gla_bench CONFIG).
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gla_bench)
set(program_path bin/gla-bench)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/package/gla_benchConfig.cmake.in
  ${CMAKE_BINARY_DIR}/package/gla_benchConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS program_path data_dir)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/gla_benchConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_BINARY_DIR}/package/gla_benchConfig.cmake
              ${CMAKE_BINARY_DIR}/package/gla_benchConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/package/gla_benchGate.cmake
        DESTINATION ${package_dir})

# The Debian package. Everything but the C library is linked statically or opened at run time; where a
# static archive was missing, the packager finds the shared libraries' packages by itself.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gla-bench)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The gla-bench contributors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "runs, verifies and measures gated linear attention")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(suggestions nvidia-cuda-toolkit)
if(GLA_BENCH_STATIC_OPENBLAS AND GLA_BENCH_STATIC_OPENMP)
  execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX MATCH "[0-9.]+" libc "${libc}")
  if(libc)
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${libc})")
  else()
    set(CPACK_DEBIAN_PACKAGE_DEPENDS libc6)
  endif()
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
if(TARGET gla-bench-google)
  # Only the command `bench` needs it.
  get_target_property(library benchmark::benchmark LOCATION)
  get_filename_component(library "${library}" REALPATH)
  execute_process(COMMAND dpkg-query -S ${library} OUTPUT_VARIABLE owner ERROR_QUIET)
  if(owner MATCHES "^([^:]+):")
    list(APPEND suggestions ${CMAKE_MATCH_1})
  endif()
endif()
list(JOIN suggestions ", " CPACK_DEBIAN_PACKAGE_SUGGESTS)
include(CPack)
