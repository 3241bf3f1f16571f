//===- LowerTileToCudaLayout.cpp - Coordinates that layouts give ----------===//

#include "passes/Kernel/LowerTileToCuda.h"

using namespace mlir;
using namespace weft;
using namespace weft::tile;

/// Consecutive bits of a number below 2^bits.
Value CudaTileEmitter::bitsOf(Value value, unsigned bits,
                              const BitField &field) {
  if (value == lanes.lane && field.from + field.count == bits &&
      field.from == 2)
    return lanes.group;
  if (value == lanes.lane && field.from == 0 && field.count == 2)
    return lanes.inGroup;
  if (field.from > 0)
    value =
        b.createOrFold<arith::DivUIOp>(value, number(int64_t(1) << field.from));
  if (field.from + field.count < bits)
    value = modulo(value, int64_t(1) << field.count);
  return value;
}

/// What a coordinate along `input` adds to `scale` times that along `output`,
/// for layouts in which no two bits of the inputs are added in one of the
/// output.
Value CudaTileEmitter::along(const Layout &layout, Axis output, Axis input,
                             Value coordinate, int64_t scale) {
  SmallVector<Value> terms;
  for (const BitField &field : layout.fields(input, output))
    terms.push_back(mul(bitsOf(coordinate, layout.inputBits(input), field),
                        scale * (int64_t(1) << field.to)));
  if (terms.empty())
    return number(0);
  Value sum = terms.pop_back_val();
  while (!terms.empty())
    sum = add(terms.pop_back_val(), sum);
  return sum;
}
