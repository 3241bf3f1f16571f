# LLVM/MLIR 22 and the helpers for libraries that use it.

find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "Weft needs LLVM/MLIR 22, found ${LLVM_PACKAGE_VERSION}; run scripts/setup")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
set(WEFT_LLVM_TOOLS ${LLVM_TOOLS_BINARY_DIR})
set(WEFT_TABLEGEN_INCLUDES)
foreach(dir ${MLIR_INCLUDE_DIRS})
  list(APPEND WEFT_TABLEGEN_INCLUDES -I${dir})
endforeach()

separate_arguments(WEFT_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
list(FILTER WEFT_LLVM_DEFINITIONS EXCLUDE REGEX "_GLIBCXX_USE_CXX11_ABI")

# One precompiled header for all MLIR code: header parsing is nearly all of the
# compile time (docs/build.md).
add_library(weft-mlir-pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/MlirPch.cpp)
target_include_directories(weft-mlir-pch SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(weft-mlir-pch PUBLIC ${WEFT_LLVM_DEFINITIONS})
target_precompile_headers(weft-mlir-pch PRIVATE
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/Linalg/IR/Linalg.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/Dialect/Vector/IR/VectorOps.h>
  <mlir/IR/Builders.h>
  <mlir/IR/BuiltinTypes.h>
  <mlir/IR/DialectImplementation.h>
  <mlir/IR/IRMapping.h>
  <mlir/IR/OpImplementation.h>
  <mlir/IR/PatternMatch.h>
  <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>
  <mlir/Transforms/DialectConversion.h>
  <mlir/Transforms/GreedyPatternRewriteDriver.h>)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(weft-mlir-pch PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endif()

# weft_mlir_library(name sources... DEPENDS tablegen-targets... LIBS libs...)
function(weft_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  weft_use_mlir(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LIBS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# weft_use_mlir(target): MLIR headers, the precompiled header, libMLIR and libLLVM.
function(weft_use_mlir target)
  target_include_directories(${target} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${target} PUBLIC ${WEFT_LLVM_DEFINITIONS})
  target_precompile_headers(${target} REUSE_FROM weft-mlir-pch)
  # An executable would be compiled with -fPIE, which the header, made with
  # -fPIC, does not fit.
  target_compile_options(${target} PRIVATE -fPIC)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_link_libraries(${target} PUBLIC MLIR LLVM)
endfunction()

# weft_tablegen(target Td.td gen-flag output ...): one tablegen target; the
# remaining arguments alternate between output file and generator flags, the
# flags separated by commas.
function(weft_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(args ${ARGN})
  while(args)
    list(POP_FRONT args output flags)
    string(REPLACE "," ";" flags "${flags}")
    mlir_tablegen(${output} ${flags} -I${PROJECT_SOURCE_DIR} ${WEFT_TABLEGEN_INCLUDES})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()
