//===- ByteSize.h - Sizes of memory for people ----------------------------===//

#ifndef WEFT_RUNTIME_FORMAT_BYTESIZE_H
#define WEFT_RUNTIME_FORMAT_BYTESIZE_H

#include <cstdint>
#include <string>

namespace weft::rt {

/// "312 B", "1.50 GiB": three significant digits in steps of 1024.
std::string formatBytes(uint64_t size);

} // namespace weft::rt

#endif // WEFT_RUNTIME_FORMAT_BYTESIZE_H
