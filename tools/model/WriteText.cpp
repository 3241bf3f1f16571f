//===- WriteText.cpp - Text output of a tool ------------------------------===//

#include "tools/model/WriteText.h"

#include "runtime/Format/OutputFile.h"
#include "tools/common/ExitCodes.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <string>

using namespace weft;

/// raw_ostream ends the program over an error that nobody has looked at.
static rt::Status finishStream(llvm::raw_fd_ostream &stream,
                               llvm::StringRef name) {
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return error ? rt::Status::io("cannot write " + name.str() + ": " +
                                error.message())
               : rt::Status::ok();
}

void tools::reportLostOutput(llvm::StringRef tool) {
  // Functions that run at the exit have no arguments.
  static std::string name;
  name = tool.str();
  // Made first, the stream is destroyed after the function has run.
  (void)llvm::outs();
  std::atexit([] {
    if (rt::Status status = finishStream(llvm::outs(), "standard output");
        !status)
      std::_Exit(tools::finish(name, status));
  });
}

rt::Status tools::writeText(llvm::StringRef path, llvm::StringRef text) {
  if (path.empty() || path == "-") {
    llvm::outs() << text;
    return finishStream(llvm::outs(), "standard output");
  }
  llvm::sys::fs::file_status info;
  if (!llvm::sys::fs::status(path, info) && llvm::sys::fs::exists(info) &&
      !llvm::sys::fs::is_regular_file(info) &&
      !llvm::sys::fs::is_directory(info)) {
    std::error_code error;
    llvm::raw_fd_ostream stream(path, error);
    if (error)
      return rt::Status::io("cannot write '" + path.str() +
                            "': " + error.message());
    stream << text;
    return finishStream(stream, "'" + path.str() + "'");
  }
  rt::Result<rt::OutputFile> file =
      rt::OutputFile::create(path.str(), text.size());
  if (!file)
    return file.getStatus();
  if (rt::Status status =
          file->write(0, std::as_bytes(std::span(text.data(), text.size())));
      !status)
    return status;
  return file->commit();
}
