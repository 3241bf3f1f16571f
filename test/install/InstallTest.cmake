# Installs BUILD into a folder, builds the project CONSUMER against it and runs
# its programs and the installed tools; with MODEL, on a plan of that model.

set(prefix ${FOLDER}/prefix)
file(REMOVE_RECURSE ${FOLDER})

# run(COMMAND...): a command that has to succeed; its output is in `output`.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors
                  RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --strip)
foreach(file README.md CHANGELOG.md docs/c-api.md docs/decisions/README.md
        examples/generate.c)
  if(NOT EXISTS ${prefix}/share/doc/Weft/${file})
    message(FATAL_ERROR "share/doc/Weft/${file} was not installed")
  endif()
endforeach()
foreach(tool weft-run weft-dump weft-bench)
  run(${prefix}/bin/${tool} --help)
endforeach()

# The runtime is small and needs nothing of the compiler.
set(library ${prefix}/${LIBRARY})
file(SIZE ${library} bytes)
if(bytes GREATER 5000000)
  message(FATAL_ERROR "${library} has ${bytes} bytes, expected at most 5 MB")
endif()
foreach(program ${library} ${prefix}/bin/weft-run)
  run(ldd ${program})
  if(NOT output MATCHES "libstdc" OR output MATCHES "LLVM|MLIR|libclang")
    message(FATAL_ERROR "${program} needs the wrong libraries:\n${output}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${FOLDER}/build -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DVERSION=${VERSION}
    -DEXAMPLES=${prefix}/share/doc/Weft/examples)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${FOLDER}/build/consumer ${FOLDER}/none.weft)
if(NOT output MATCHES "^${VERSION}: .*none.weft")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()

if(MODEL)
  foreach(tool weft-compile weft-bisect weft-opt weft-lsp-server)
    run(${prefix}/bin/${tool} --help)
  endforeach()
  run(${prefix}/bin/weft-compile ${MODEL} -o ${FOLDER}/model.weft)
  run(${prefix}/bin/weft-run ${FOLDER}/model.weft --prompt "Once upon"
      --max-tokens 20 --temperature 0)
  set(expected "${output}")
  if(NOT expected MATCHES "^Once upon a time, there was a little girl")
    message(FATAL_ERROR "weft-run printed: ${expected}")
  endif()
  run(${FOLDER}/build/generate ${FOLDER}/model.weft "Once upon" 20)
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "the example printed: ${output}expected: ${expected}")
  endif()
endif()
