# Flags, ccache and the helpers that every part of the tree uses.

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The slopiness settings are what precompiled headers need; see docs/build.md.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${WEFT_CCACHE})
endif()

find_program(WEFT_LLD NAMES ld.lld-22 ld.lld)
if(WEFT_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(-fuse-ld=lld)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -fno-strict-aliasing)
if(WEFT_ASSERTIONS)
  add_compile_options(-UNDEBUG)
endif()
if(WEFT_SANITIZE)
  # function: kernels that the runtime loads carry no type information, and the
  # check would read the bytes before them.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                      -fno-sanitize=vptr -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options(-fno-sanitize=function)
  endif()
  add_link_options(-fsanitize=address,undefined -fno-sanitize=vptr)
endif()
if(WEFT_FUZZ)
  # The fuzzers need the coverage of the libraries, not only of their own file.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})

# weft_fuzzer(name SOURCE DEPENDS libs...): a libFuzzer target, with
# test/<...>/corpus beside its source as the seed corpus.
function(weft_fuzzer name source)
  if(NOT WEFT_FUZZ)
    return()
  endif()
  add_executable(${name} ${source})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${ARGN})
endfunction()

# weft_gtest(name LABEL sources... LIBS libs...): one GoogleTest executable,
# registered as one ctest test with the given label.
function(weft_gtest name label)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" WEFT_BINARY_DIR="${PROJECT_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${label})
endfunction()
