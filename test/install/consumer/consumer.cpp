//===- consumer.cpp - A program outside Weft's tree -----------------------===//
//
// Prints Weft's version and what it says about a plan that does not exist.
//
//===----------------------------------------------------------------------===//

#include <weft/weft.hpp>

#include <iostream>

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  try {
    weft::Plan plan(argv[1]);
  } catch (const weft::Error &error) {
    std::cout << weft_version() << ": " << error.what() << "\n";
    return 0;
  }
  return 1;
}
