# cmake --install: the runtime (library, headers, package for find_package,
# tools), the compiler's tools, and what users read. docs/build.md lists it.

include(CMakePackageConfigHelpers)

# Components: runtime and compiler (`cmake --install BUILD --component runtime`).
set(runtime_tools weft-run weft-dump weft-bench)
set(compiler_tools weft-compile weft-opt weft-bisect weft-lsp-server)
install(TARGETS ${runtime_tools}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
if(WEFT_BUILD_COMPILER)
  # LLVM's libraries may lie where the system does not look.
  set_target_properties(${compiler_tools} PROPERTIES
    INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${compiler_tools}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler)
endif()

install(TARGETS weft EXPORT weft-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/weft
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT runtime)

# find_package(weft) gives weft::weft.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weft-targets NAMESPACE weft::
  DESTINATION ${package_folder} COMPONENT runtime)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/weft-config.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/weft-targets.cmake)\n")
# Before 1.0 a new minor version may change the C++ headers.
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/weft-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weft-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/weft-config-version.cmake
  DESTINATION ${package_folder} COMPONENT runtime)

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime
  FILES_MATCHING PATTERN "*.md")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime
  FILES_MATCHING PATTERN "*.c")
