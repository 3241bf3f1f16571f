// RUN: weft-print-cuda --cuda-kernel %s | FileCheck %s

// Every operation on numbers. EmitCudaTest compiles these kernels with NVRTC.
// `out` of a thread is one row of results, in the order of the operations.

// CHECK-LABEL: integers(
cuda.kernel @integers arch "sm_80" threads 32 shared 0
    (%a_in: !cuda.ptr<i32, global> loc("a_in"), %b_in: !cuda.ptr<i32, global> loc("b_in"),
     %out: !cuda.ptr<i32, global> loc("out"), %items: index loc("items")) {
  %i = cuda.thread_index : index loc("i")
  %n = arith.constant 45 : index
  %first = arith.muli %i, %n : index
  %o = cuda.offset %out[%first] : !cuda.ptr<i32, global>, index loc("o")
  %a = cuda.load %a_in[%i] : !cuda.ptr<i32, global>, index -> i32 loc("a")
  %b = cuda.load %b_in[%i] : !cuda.ptr<i32, global>, index -> i32 loc("b")
  %five = arith.constant 5 : i32
  %minus = arith.constant -3 : i32
  %thirty = arith.constant 30 : i64
  %cm7 = arith.constant -7 : index
  %c9 = arith.constant 9 : index
  %c1000 = arith.constant 1000 : index
  %least = arith.constant -2147483648 : i32
  %bigger = arith.cmpi ne, %a, %least : i32
  %v0 = arith.addi %a, %b : i32
  %at0 = arith.constant 0 : index
  // CHECK: o[0] = int(u32(a) + b);
  cuda.store %v0, %o[%at0] : i32, !cuda.ptr<i32, global>, index
  %v1 = arith.addi %a, %b overflow<nsw> : i32
  %at1 = arith.constant 1 : index
  // CHECK: o[1] = a + b;
  cuda.store %v1, %o[%at1] : i32, !cuda.ptr<i32, global>, index
  %v2 = arith.subi %a, %b : i32
  %at2 = arith.constant 2 : index
  // CHECK: o[2] = int(u32(a) - b);
  cuda.store %v2, %o[%at2] : i32, !cuda.ptr<i32, global>, index
  %v3 = arith.muli %a, %b : i32
  %at3 = arith.constant 3 : index
  // CHECK: o[3] = int(u32(a) * b);
  cuda.store %v3, %o[%at3] : i32, !cuda.ptr<i32, global>, index
  %v4 = arith.muli %a, %minus : i32
  %at4 = arith.constant 4 : index
  // CHECK: o[4] = int(u32(a) * u32(-3));
  cuda.store %v4, %o[%at4] : i32, !cuda.ptr<i32, global>, index
  %v5 = arith.divsi %a, %b : i32
  %at5 = arith.constant 5 : index
  // CHECK: o[5] = a / b;
  cuda.store %v5, %o[%at5] : i32, !cuda.ptr<i32, global>, index
  %v6 = arith.remsi %a, %b : i32
  %at6 = arith.constant 6 : index
  // CHECK: o[6] = a % b;
  cuda.store %v6, %o[%at6] : i32, !cuda.ptr<i32, global>, index
  %v7 = arith.divui %a, %b : i32
  %at7 = arith.constant 7 : index
  // CHECK: o[7] = int(u32(a) / b);
  cuda.store %v7, %o[%at7] : i32, !cuda.ptr<i32, global>, index
  %v8 = arith.remui %a, %b : i32
  %at8 = arith.constant 8 : index
  // CHECK: o[8] = int(u32(a) % b);
  cuda.store %v8, %o[%at8] : i32, !cuda.ptr<i32, global>, index
  %v9 = arith.ceildivsi %a, %b : i32
  %at9 = arith.constant 9 : index
  // CHECK: o[9] = ceil_div(a, b);
  cuda.store %v9, %o[%at9] : i32, !cuda.ptr<i32, global>, index
  %v10 = arith.floordivsi %a, %b : i32
  %at10 = arith.constant 10 : index
  // CHECK: o[10] = floor_div(a, b);
  cuda.store %v10, %o[%at10] : i32, !cuda.ptr<i32, global>, index
  %v11 = arith.ceildivui %a, %b : i32
  %at11 = arith.constant 11 : index
  // CHECK: o[11] = int(ceil_div_unsigned(u32(a), u32(b)));
  cuda.store %v11, %o[%at11] : i32, !cuda.ptr<i32, global>, index
  %v12 = arith.andi %a, %b : i32
  %at12 = arith.constant 12 : index
  // CHECK: o[12] = a & b;
  cuda.store %v12, %o[%at12] : i32, !cuda.ptr<i32, global>, index
  %v13 = arith.ori %a, %b : i32
  %at13 = arith.constant 13 : index
  // CHECK: o[13] = a | b;
  cuda.store %v13, %o[%at13] : i32, !cuda.ptr<i32, global>, index
  %v14 = arith.xori %a, %b : i32
  %at14 = arith.constant 14 : index
  // CHECK: o[14] = a ^ b;
  cuda.store %v14, %o[%at14] : i32, !cuda.ptr<i32, global>, index
  %v15 = arith.shli %a, %five : i32
  %at15 = arith.constant 15 : index
  // CHECK: o[15] = int(u32(a) << 5);
  cuda.store %v15, %o[%at15] : i32, !cuda.ptr<i32, global>, index
  %v16 = arith.shrsi %a, %five : i32
  %at16 = arith.constant 16 : index
  // CHECK: o[16] = a >> 5;
  cuda.store %v16, %o[%at16] : i32, !cuda.ptr<i32, global>, index
  %v17 = arith.shrui %a, %five : i32
  %at17 = arith.constant 17 : index
  // CHECK: o[17] = int(u32(a) >> 5);
  cuda.store %v17, %o[%at17] : i32, !cuda.ptr<i32, global>, index
  %v18 = arith.minsi %a, %b : i32
  %at18 = arith.constant 18 : index
  // CHECK: o[18] = min(a, b);
  cuda.store %v18, %o[%at18] : i32, !cuda.ptr<i32, global>, index
  %v19 = arith.maxsi %a, %b : i32
  %at19 = arith.constant 19 : index
  // CHECK: o[19] = max(a, b);
  cuda.store %v19, %o[%at19] : i32, !cuda.ptr<i32, global>, index
  %v20 = arith.minui %a, %b : i32
  %at20 = arith.constant 20 : index
  // CHECK: o[20] = int(min(u32(a), u32(b)));
  cuda.store %v20, %o[%at20] : i32, !cuda.ptr<i32, global>, index
  %v21 = arith.maxui %a, %b : i32
  %at21 = arith.constant 21 : index
  // CHECK: o[21] = int(max(u32(a), u32(b)));
  cuda.store %v21, %o[%at21] : i32, !cuda.ptr<i32, global>, index
  %v22 = math.absi %a : i32
  %at22 = arith.constant 22 : index
  // CHECK: o[22] = abs(a);
  cuda.store %v22, %o[%at22] : i32, !cuda.ptr<i32, global>, index
  %v23 = math.ctpop %a : i32
  %at23 = arith.constant 23 : index
  // CHECK: o[23] = __popc(a);
  cuda.store %v23, %o[%at23] : i32, !cuda.ptr<i32, global>, index
  %v24 = math.ctlz %a : i32
  %at24 = arith.constant 24 : index
  // CHECK: o[24] = __clz(a);
  cuda.store %v24, %o[%at24] : i32, !cuda.ptr<i32, global>, index
  %low, %high = arith.mului_extended %a, %b : i32
  %v25 = arith.xori %low, %high : i32
  %at25 = arith.constant 25 : index
  // CHECK: o[25] = v ^ v1;
  cuda.store %v25, %o[%at25] : i32, !cuda.ptr<i32, global>, index
  %slow, %shigh = arith.mulsi_extended %a, %b : i32
  %v26 = arith.xori %slow, %shigh : i32
  %at26 = arith.constant 26 : index
  // CHECK: o[26] = v2 ^ v3;
  cuda.store %v26, %o[%at26] : i32, !cuda.ptr<i32, global>, index
  %t8 = arith.trunci %a : i32 to i8
  %b8 = arith.trunci %b : i32 to i8
  %s8 = arith.addi %t8, %b8 : i8
  %v27 = arith.extsi %s8 : i8 to i32
  %at27 = arith.constant 27 : index
  // CHECK: o[27] = int(i8(u8(i8(a)) + i8(b)));
  cuda.store %v27, %o[%at27] : i32, !cuda.ptr<i32, global>, index
  %t8u = arith.trunci %a : i32 to i8
  %v28 = arith.extui %t8u : i8 to i32
  %at28 = arith.constant 28 : index
  // CHECK: o[28] = int(u8(i8(a)));
  cuda.store %v28, %o[%at28] : i32, !cuda.ptr<i32, global>, index
  %odd = arith.trunci %a : i32 to i1
  %v29 = arith.extsi %odd : i1 to i32
  %at29 = arith.constant 29 : index
  // CHECK: o[29] = int(-int(bool(a & 1)));
  cuda.store %v29, %o[%at29] : i32, !cuda.ptr<i32, global>, index
  %wide = arith.extsi %a : i32 to i64
  %wide2 = arith.extui %b : i32 to i64
  %wide3 = arith.muli %wide, %wide2 : i64
  %wide4 = arith.shrsi %wide3, %thirty : i64
  %v30 = arith.trunci %wide4 : i64 to i32
  %at30 = arith.constant 30 : index
  // CHECK: o[30] = int(i64(u64(i64(a)) * i64(u32(b))) >> 30);
  cuda.store %v30, %o[%at30] : i32, !cuda.ptr<i32, global>, index
  %index = arith.index_cast %a : i32 to index
  %index2 = arith.addi %index, %cm7 : index
  %v31 = arith.index_cast %index2 : index to i32
  %at31 = arith.constant 31 : index
  // CHECK: o[31] = int(i64(a) - 7);
  cuda.store %v31, %o[%at31] : i32, !cuda.ptr<i32, global>, index
  %uindex = arith.index_castui %a : i32 to index
  %uindex2 = arith.divsi %uindex, %c9 : index
  %uindex3 = arith.minsi %uindex2, %c1000 : index
  %v32 = arith.index_castui %uindex3 : index to i32
  %at32 = arith.constant 32 : index
  // CHECK: o[32] = int(u64(min(i64(u32(a)) / 9, 1000ll)));
  cuda.store %v32, %o[%at32] : i32, !cuda.ptr<i32, global>, index
  %less = arith.cmpi slt, %a, %b : i32
  %eq = arith.cmpi eq, %a, %five : i32
  %either = arith.ori %less, %eq : i1
  %both = arith.andi %either, %bigger : i1
  %v33 = arith.select %both, %a, %five : i32
  %at33 = arith.constant 33 : index
  // CHECK: o[33] = (a < b || a == 5) && a != (-2147483647 - 1) ? a : 5;
  cuda.store %v33, %o[%at33] : i32, !cuda.ptr<i32, global>, index
  %tree0 = arith.subi %a, %b overflow<nsw> : i32
  %tree1 = arith.subi %five, %tree0 overflow<nsw> : i32
  %tree2 = arith.muli %tree1, %tree1 overflow<nsw> : i32
  %v34 = arith.subi %tree2, %tree1 overflow<nsw> : i32
  %at34 = arith.constant 34 : index
  // CHECK: o[34] = difference * difference - difference;
  cuda.store %v34, %o[%at34] : i32, !cuda.ptr<i32, global>, index
  %p_cmpieq = arith.cmpi eq, %a, %b : i32
  %v35 = arith.extui %p_cmpieq : i1 to i32
  %at35 = arith.constant 35 : index
  // CHECK: o[35] = int(a == b);
  cuda.store %v35, %o[%at35] : i32, !cuda.ptr<i32, global>, index
  %p_cmpine = arith.cmpi ne, %a, %b : i32
  %v36 = arith.extui %p_cmpine : i1 to i32
  %at36 = arith.constant 36 : index
  // CHECK: o[36] = int(a != b);
  cuda.store %v36, %o[%at36] : i32, !cuda.ptr<i32, global>, index
  %p_cmpislt = arith.cmpi slt, %a, %b : i32
  %v37 = arith.extui %p_cmpislt : i1 to i32
  %at37 = arith.constant 37 : index
  // CHECK: o[37] = int(a < b);
  cuda.store %v37, %o[%at37] : i32, !cuda.ptr<i32, global>, index
  %p_cmpisle = arith.cmpi sle, %a, %b : i32
  %v38 = arith.extui %p_cmpisle : i1 to i32
  %at38 = arith.constant 38 : index
  // CHECK: o[38] = int(a <= b);
  cuda.store %v38, %o[%at38] : i32, !cuda.ptr<i32, global>, index
  %p_cmpisgt = arith.cmpi sgt, %a, %b : i32
  %v39 = arith.extui %p_cmpisgt : i1 to i32
  %at39 = arith.constant 39 : index
  // CHECK: o[39] = int(a > b);
  cuda.store %v39, %o[%at39] : i32, !cuda.ptr<i32, global>, index
  %p_cmpisge = arith.cmpi sge, %a, %b : i32
  %v40 = arith.extui %p_cmpisge : i1 to i32
  %at40 = arith.constant 40 : index
  // CHECK: o[40] = int(a >= b);
  cuda.store %v40, %o[%at40] : i32, !cuda.ptr<i32, global>, index
  %p_cmpiult = arith.cmpi ult, %a, %b : i32
  %v41 = arith.extui %p_cmpiult : i1 to i32
  %at41 = arith.constant 41 : index
  // CHECK: o[41] = int(u32(a) < u32(b));
  cuda.store %v41, %o[%at41] : i32, !cuda.ptr<i32, global>, index
  %p_cmpiule = arith.cmpi ule, %a, %b : i32
  %v42 = arith.extui %p_cmpiule : i1 to i32
  %at42 = arith.constant 42 : index
  // CHECK: o[42] = int(u32(a) <= u32(b));
  cuda.store %v42, %o[%at42] : i32, !cuda.ptr<i32, global>, index
  %p_cmpiugt = arith.cmpi ugt, %a, %b : i32
  %v43 = arith.extui %p_cmpiugt : i1 to i32
  %at43 = arith.constant 43 : index
  // CHECK: o[43] = int(u32(a) > u32(b));
  cuda.store %v43, %o[%at43] : i32, !cuda.ptr<i32, global>, index
  %p_cmpiuge = arith.cmpi uge, %a, %b : i32
  %v44 = arith.extui %p_cmpiuge : i1 to i32
  %at44 = arith.constant 44 : index
  // CHECK: o[44] = int(u32(a) >= u32(b));
  cuda.store %v44, %o[%at44] : i32, !cuda.ptr<i32, global>, index
  cuda.return
}

// CHECK-LABEL: floats(
cuda.kernel @floats arch "sm_80" threads 32 shared 0
    (%a_in: !cuda.ptr<f32, global> loc("a_in"), %b_in: !cuda.ptr<f32, global> loc("b_in"),
     %out: !cuda.ptr<f32, global> loc("out"), %items: index loc("items")) {
  %i = cuda.thread_index : index loc("i")
  %n = arith.constant 66 : index
  %first = arith.muli %i, %n : index
  %o = cuda.offset %out[%first] : !cuda.ptr<f32, global>, index loc("o")
  %a = cuda.load %a_in[%i] : !cuda.ptr<f32, global>, index -> f32 loc("a")
  %b = cuda.load %b_in[%i] : !cuda.ptr<f32, global>, index -> f32 loc("b")
  %tenth = arith.constant 0.1 : f32
  %inf = arith.constant 0xFF800000 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %dnan = arith.constant 0x7FF8000000000000 : f64
  %one = arith.constant 1 : i32
  %positive = math.absf %a : f32 loc("positive")
  %v0 = arith.addf %a, %b : f32
  %at0 = arith.constant 0 : index
  // CHECK: o[0] = a + b;
  cuda.store %v0, %o[%at0] : f32, !cuda.ptr<f32, global>, index
  %v1 = arith.subf %a, %b : f32
  %at1 = arith.constant 1 : index
  // CHECK: o[1] = a - b;
  cuda.store %v1, %o[%at1] : f32, !cuda.ptr<f32, global>, index
  %v2 = arith.mulf %a, %b : f32
  %at2 = arith.constant 2 : index
  // CHECK: o[2] = a * b;
  cuda.store %v2, %o[%at2] : f32, !cuda.ptr<f32, global>, index
  %v3 = arith.divf %a, %b : f32
  %at3 = arith.constant 3 : index
  // CHECK: o[3] = a / b;
  cuda.store %v3, %o[%at3] : f32, !cuda.ptr<f32, global>, index
  %v4 = arith.remf %a, %b : f32
  %at4 = arith.constant 4 : index
  // CHECK: o[4] = fmodf(a, b);
  cuda.store %v4, %o[%at4] : f32, !cuda.ptr<f32, global>, index
  %neg = arith.negf %a : f32
  %v5 = arith.negf %neg : f32
  %at5 = arith.constant 5 : index
  // CHECK: o[5] = -(-a);
  cuda.store %v5, %o[%at5] : f32, !cuda.ptr<f32, global>, index
  %v6 = arith.maximumf %a, %b : f32
  %at6 = arith.constant 6 : index
  // CHECK: o[6] = maximum(a, b);
  cuda.store %v6, %o[%at6] : f32, !cuda.ptr<f32, global>, index
  %v7 = arith.minimumf %a, %b : f32
  %at7 = arith.constant 7 : index
  // CHECK: o[7] = minimum(a, b);
  cuda.store %v7, %o[%at7] : f32, !cuda.ptr<f32, global>, index
  %v8 = arith.maxnumf %a, %b : f32
  %at8 = arith.constant 8 : index
  // CHECK: o[8] = fmaxf(a, b);
  cuda.store %v8, %o[%at8] : f32, !cuda.ptr<f32, global>, index
  %v9 = arith.minnumf %a, %b : f32
  %at9 = arith.constant 9 : index
  // CHECK: o[9] = fminf(a, b);
  cuda.store %v9, %o[%at9] : f32, !cuda.ptr<f32, global>, index
  %v10 = arith.addf %a, %tenth : f32
  %at10 = arith.constant 10 : index
  // CHECK: o[10] = a + 0.1f;
  cuda.store %v10, %o[%at10] : f32, !cuda.ptr<f32, global>, index
  %v11 = arith.maximumf %a, %inf : f32
  %at11 = arith.constant 11 : index
  // CHECK: o[11] = maximum(a, -inf());
  cuda.store %v11, %o[%at11] : f32, !cuda.ptr<f32, global>, index
  %v12 = arith.addf %a, %nan : f32
  %at12 = arith.constant 12 : index
  // CHECK: o[12] = a + __uint_as_float(2143289344u);
  cuda.store %v12, %o[%at12] : f32, !cuda.ptr<f32, global>, index
  %fa = arith.mulf %a, %b : f32
  %fb = arith.addf %a, %b : f32
  %fc = arith.subf %a, %fb : f32
  %fd = arith.divf %fa, %fc : f32
  %v13 = arith.mulf %b, %fd : f32
  %at13 = arith.constant 13 : index
  // CHECK: o[13] = b * (a * b / (a - (a + b)));
  cuda.store %v13, %o[%at13] : f32, !cuda.ptr<f32, global>, index
  %v14 = math.fma %a, %b, %tenth : f32
  %at14 = arith.constant 14 : index
  // CHECK: o[14] = fmaf(a, b, 0.1f);
  cuda.store %v14, %o[%at14] : f32, !cuda.ptr<f32, global>, index
  %i32 = arith.fptosi %a : f32 to i32
  %v15 = arith.sitofp %i32 : i32 to f32
  %at15 = arith.constant 15 : index
  // CHECK: o[15] = float(int(a));
  cuda.store %v15, %o[%at15] : f32, !cuda.ptr<f32, global>, index
  %abs0 = math.absf %a : f32
  %u32 = arith.fptoui %abs0 : f32 to i32
  %v16 = arith.uitofp %u32 : i32 to f32
  %at16 = arith.constant 16 : index
  // CHECK: o[16] = float(u32(int(u32(fabsf(a)))));
  cuda.store %v16, %o[%at16] : f32, !cuda.ptr<f32, global>, index
  %bits = arith.bitcast %a : f32 to i32
  %flip = arith.xori %bits, %one : i32
  %v17 = arith.bitcast %flip : i32 to f32
  %at17 = arith.constant 17 : index
  // CHECK: o[17] = bit_cast<float>(bit_cast<int>(a) ^ 1);
  cuda.store %v17, %o[%at17] : f32, !cuda.ptr<f32, global>, index
  %h = arith.truncf %a : f32 to bf16
  %v18 = arith.extf %h : bf16 to f32
  %at18 = arith.constant 18 : index
  // CHECK: o[18] = to_float(to_bf16(a));
  cuda.store %v18, %o[%at18] : f32, !cuda.ptr<f32, global>, index
  %hh = arith.truncf %a : f32 to f16
  %v19 = arith.extf %hh : f16 to f32
  %at19 = arith.constant 19 : index
  // CHECK: o[19] = to_float(to_f16(a));
  cuda.store %v19, %o[%at19] : f32, !cuda.ptr<f32, global>, index
  %d = arith.extf %a : f32 to f64
  %e = arith.extf %b : f32 to f64
  %q = arith.divf %d, %e : f64
  %hd = arith.truncf %q : f64 to bf16
  %v20 = arith.extf %hd : bf16 to f32
  %at20 = arith.constant 20 : index
  // CHECK: o[20] = to_float(to_bf16(double(a) / double(b)));
  cuda.store %v20, %o[%at20] : f32, !cuda.ptr<f32, global>, index
  %d1 = arith.extf %a : f32 to f64
  %r1 = math.exp %d1 : f64
  %hd1 = arith.truncf %r1 : f64 to f16
  %v21 = arith.extf %hd1 : f16 to f32
  %at21 = arith.constant 21 : index
  // CHECK: o[21] = to_float(to_f16(exp(double(a))));
  cuda.store %v21, %o[%at21] : f32, !cuda.ptr<f32, global>, index
  %d2 = arith.extf %a : f32 to f64
  %m2 = arith.maximumf %d2, %dnan : f64
  %v22 = arith.truncf %m2 : f64 to f32
  %at22 = arith.constant 22 : index
  // CHECK: o[22] = float(maximum(double(a), __longlong_as_double(9221120237041090560ll)));
  cuda.store %v22, %o[%at22] : f32, !cuda.ptr<f32, global>, index
  %less = arith.cmpf olt, %a, %b : f32
  %v23 = arith.select %less, %a, %tenth : f32
  %at23 = arith.constant 23 : index
  // CHECK: o[23] = a < b ? a : 0.1f;
  cuda.store %v23, %o[%at23] : f32, !cuda.ptr<f32, global>, index
  %v24 = cuda.exp2 %a : f32
  %at24 = arith.constant 24 : index
  // CHECK: o[24] = exp2_approx(a);
  cuda.store %v24, %o[%at24] : f32, !cuda.ptr<f32, global>, index
  %v25 = math.exp %a : f32
  %at25 = arith.constant 25 : index
  // CHECK: o[25] = expf(a);
  cuda.store %v25, %o[%at25] : f32, !cuda.ptr<f32, global>, index
  %v26 = math.exp2 %a : f32
  %at26 = arith.constant 26 : index
  // CHECK: o[26] = exp2f(a);
  cuda.store %v26, %o[%at26] : f32, !cuda.ptr<f32, global>, index
  %v27 = math.expm1 %a : f32
  %at27 = arith.constant 27 : index
  // CHECK: o[27] = expm1f(a);
  cuda.store %v27, %o[%at27] : f32, !cuda.ptr<f32, global>, index
  %v28 = math.tanh %a : f32
  %at28 = arith.constant 28 : index
  // CHECK: o[28] = tanhf(a);
  cuda.store %v28, %o[%at28] : f32, !cuda.ptr<f32, global>, index
  %v29 = math.erf %a : f32
  %at29 = arith.constant 29 : index
  // CHECK: o[29] = erff(a);
  cuda.store %v29, %o[%at29] : f32, !cuda.ptr<f32, global>, index
  %v30 = math.atan %a : f32
  %at30 = arith.constant 30 : index
  // CHECK: o[30] = atanf(a);
  cuda.store %v30, %o[%at30] : f32, !cuda.ptr<f32, global>, index
  %v31 = math.cbrt %a : f32
  %at31 = arith.constant 31 : index
  // CHECK: o[31] = cbrtf(a);
  cuda.store %v31, %o[%at31] : f32, !cuda.ptr<f32, global>, index
  %v32 = math.absf %a : f32
  %at32 = arith.constant 32 : index
  // CHECK: o[32] = fabsf(a);
  cuda.store %v32, %o[%at32] : f32, !cuda.ptr<f32, global>, index
  %v33 = math.floor %a : f32
  %at33 = arith.constant 33 : index
  // CHECK: o[33] = floorf(a);
  cuda.store %v33, %o[%at33] : f32, !cuda.ptr<f32, global>, index
  %v34 = math.ceil %a : f32
  %at34 = arith.constant 34 : index
  // CHECK: o[34] = ceilf(a);
  cuda.store %v34, %o[%at34] : f32, !cuda.ptr<f32, global>, index
  %v35 = math.trunc %a : f32
  %at35 = arith.constant 35 : index
  // CHECK: o[35] = truncf(a);
  cuda.store %v35, %o[%at35] : f32, !cuda.ptr<f32, global>, index
  %v36 = math.round %a : f32
  %at36 = arith.constant 36 : index
  // CHECK: o[36] = roundf(a);
  cuda.store %v36, %o[%at36] : f32, !cuda.ptr<f32, global>, index
  %v37 = math.roundeven %a : f32
  %at37 = arith.constant 37 : index
  // CHECK: o[37] = rintf(a);
  cuda.store %v37, %o[%at37] : f32, !cuda.ptr<f32, global>, index
  %v38 = math.log %positive : f32
  %at38 = arith.constant 38 : index
  // CHECK: o[38] = logf(positive);
  cuda.store %v38, %o[%at38] : f32, !cuda.ptr<f32, global>, index
  %v39 = math.log2 %positive : f32
  %at39 = arith.constant 39 : index
  // CHECK: o[39] = log2f(positive);
  cuda.store %v39, %o[%at39] : f32, !cuda.ptr<f32, global>, index
  %v40 = math.log1p %positive : f32
  %at40 = arith.constant 40 : index
  // CHECK: o[40] = log1pf(positive);
  cuda.store %v40, %o[%at40] : f32, !cuda.ptr<f32, global>, index
  %v41 = math.sqrt %positive : f32
  %at41 = arith.constant 41 : index
  // CHECK: o[41] = sqrtf(positive);
  cuda.store %v41, %o[%at41] : f32, !cuda.ptr<f32, global>, index
  %v42 = math.rsqrt %positive : f32
  %at42 = arith.constant 42 : index
  // CHECK: o[42] = rsqrtf(positive);
  cuda.store %v42, %o[%at42] : f32, !cuda.ptr<f32, global>, index
  %v43 = math.powf %positive, %b : f32
  %at43 = arith.constant 43 : index
  // CHECK: o[43] = powf(positive, b);
  cuda.store %v43, %o[%at43] : f32, !cuda.ptr<f32, global>, index
  %v44 = math.copysign %a, %b : f32
  %at44 = arith.constant 44 : index
  // CHECK: o[44] = copysignf(a, b);
  cuda.store %v44, %o[%at44] : f32, !cuda.ptr<f32, global>, index
  %foeq = arith.cmpf oeq, %a, %b : f32
  %ioeq = arith.extui %foeq : i1 to i32
  %v45 = arith.uitofp %ioeq : i32 to f32
  %at45 = arith.constant 45 : index
  // CHECK: o[45] = float(u32(int(a == b)));
  cuda.store %v45, %o[%at45] : f32, !cuda.ptr<f32, global>, index
  %fone = arith.cmpf one, %a, %b : f32
  %ione = arith.extui %fone : i1 to i32
  %v46 = arith.uitofp %ione : i32 to f32
  %at46 = arith.constant 46 : index
  // CHECK: o[46] = float(u32(int(differ(a, b))));
  cuda.store %v46, %o[%at46] : f32, !cuda.ptr<f32, global>, index
  %fogt = arith.cmpf ogt, %a, %b : f32
  %iogt = arith.extui %fogt : i1 to i32
  %v47 = arith.uitofp %iogt : i32 to f32
  %at47 = arith.constant 47 : index
  // CHECK: o[47] = float(u32(int(a > b)));
  cuda.store %v47, %o[%at47] : f32, !cuda.ptr<f32, global>, index
  %foge = arith.cmpf oge, %a, %b : f32
  %ioge = arith.extui %foge : i1 to i32
  %v48 = arith.uitofp %ioge : i32 to f32
  %at48 = arith.constant 48 : index
  // CHECK: o[48] = float(u32(int(a >= b)));
  cuda.store %v48, %o[%at48] : f32, !cuda.ptr<f32, global>, index
  %folt = arith.cmpf olt, %a, %b : f32
  %iolt = arith.extui %folt : i1 to i32
  %v49 = arith.uitofp %iolt : i32 to f32
  %at49 = arith.constant 49 : index
  // CHECK: o[49] = float(u32(int(a < b)));
  cuda.store %v49, %o[%at49] : f32, !cuda.ptr<f32, global>, index
  %fole = arith.cmpf ole, %a, %b : f32
  %iole = arith.extui %fole : i1 to i32
  %v50 = arith.uitofp %iole : i32 to f32
  %at50 = arith.constant 50 : index
  // CHECK: o[50] = float(u32(int(a <= b)));
  cuda.store %v50, %o[%at50] : f32, !cuda.ptr<f32, global>, index
  %ford = arith.cmpf ord, %a, %b : f32
  %iord = arith.extui %ford : i1 to i32
  %v51 = arith.uitofp %iord : i32 to f32
  %at51 = arith.constant 51 : index
  // CHECK: o[51] = float(u32(int(ordered(a, b))));
  cuda.store %v51, %o[%at51] : f32, !cuda.ptr<f32, global>, index
  %fueq = arith.cmpf ueq, %a, %b : f32
  %iueq = arith.extui %fueq : i1 to i32
  %v52 = arith.uitofp %iueq : i32 to f32
  %at52 = arith.constant 52 : index
  // CHECK: o[52] = float(u32(int(!differ(a, b))));
  cuda.store %v52, %o[%at52] : f32, !cuda.ptr<f32, global>, index
  %fune = arith.cmpf une, %a, %b : f32
  %iune = arith.extui %fune : i1 to i32
  %v53 = arith.uitofp %iune : i32 to f32
  %at53 = arith.constant 53 : index
  // CHECK: o[53] = float(u32(int(a != b)));
  cuda.store %v53, %o[%at53] : f32, !cuda.ptr<f32, global>, index
  %fugt = arith.cmpf ugt, %a, %b : f32
  %iugt = arith.extui %fugt : i1 to i32
  %v54 = arith.uitofp %iugt : i32 to f32
  %at54 = arith.constant 54 : index
  // CHECK: o[54] = float(u32(int(!(a <= b))));
  cuda.store %v54, %o[%at54] : f32, !cuda.ptr<f32, global>, index
  %fuge = arith.cmpf uge, %a, %b : f32
  %iuge = arith.extui %fuge : i1 to i32
  %v55 = arith.uitofp %iuge : i32 to f32
  %at55 = arith.constant 55 : index
  // CHECK: o[55] = float(u32(int(!(a < b))));
  cuda.store %v55, %o[%at55] : f32, !cuda.ptr<f32, global>, index
  %fult = arith.cmpf ult, %a, %b : f32
  %iult = arith.extui %fult : i1 to i32
  %v56 = arith.uitofp %iult : i32 to f32
  %at56 = arith.constant 56 : index
  // CHECK: o[56] = float(u32(int(!(a >= b))));
  cuda.store %v56, %o[%at56] : f32, !cuda.ptr<f32, global>, index
  %fule = arith.cmpf ule, %a, %b : f32
  %iule = arith.extui %fule : i1 to i32
  %v57 = arith.uitofp %iule : i32 to f32
  %at57 = arith.constant 57 : index
  // CHECK: o[57] = float(u32(int(!(a > b))));
  cuda.store %v57, %o[%at57] : f32, !cuda.ptr<f32, global>, index
  %funo = arith.cmpf uno, %a, %b : f32
  %iuno = arith.extui %funo : i1 to i32
  %v58 = arith.uitofp %iuno : i32 to f32
  %at58 = arith.constant 58 : index
  // CHECK: o[58] = float(u32(int(!ordered(a, b))));
  cuda.store %v58, %o[%at58] : f32, !cuda.ptr<f32, global>, index
  %ftrue = arith.cmpf true, %a, %b : f32
  %itrue = arith.extui %ftrue : i1 to i32
  %v59 = arith.uitofp %itrue : i32 to f32
  %at59 = arith.constant 59 : index
  // CHECK: o[59] = float(u32(int(true)));
  cuda.store %v59, %o[%at59] : f32, !cuda.ptr<f32, global>, index
  %ffalse = arith.cmpf false, %a, %b : f32
  %ifalse = arith.extui %ffalse : i1 to i32
  %v60 = arith.uitofp %ifalse : i32 to f32
  %at60 = arith.constant 60 : index
  // CHECK: o[60] = float(u32(int(false)));
  cuda.store %v60, %o[%at60] : f32, !cuda.ptr<f32, global>, index
  %isnan = math.isnan %a : f32
  %v61 = arith.uitofp %isnan : i1 to f32
  %at61 = arith.constant 61 : index
  // CHECK: o[61] = float(isnan(a));
  cuda.store %v61, %o[%at61] : f32, !cuda.ptr<f32, global>, index
  %isinf = math.isinf %a : f32
  %v62 = arith.uitofp %isinf : i1 to f32
  %at62 = arith.constant 62 : index
  // CHECK: o[62] = float(isinf(a));
  cuda.store %v62, %o[%at62] : f32, !cuda.ptr<f32, global>, index
  %isfinite = math.isfinite %a : f32
  %v63 = arith.uitofp %isfinite : i1 to f32
  %at63 = arith.constant 63 : index
  // CHECK: o[63] = float(isfinite(a));
  cuda.store %v63, %o[%at63] : f32, !cuda.ptr<f32, global>, index
  %ib = arith.fptosi %b : f32 to i32
  %hi = arith.sitofp %ib : i32 to f16
  %v64 = arith.extf %hi : f16 to f32
  %at64 = arith.constant 64 : index
  // CHECK: o[64] = to_float(to_f16(float(int(b))));
  cuda.store %v64, %o[%at64] : f32, !cuda.ptr<f32, global>, index
  %ub = arith.fptoui %b : f32 to i32
  %hu = arith.uitofp %ub : i32 to bf16
  %v65 = arith.extf %hu : bf16 to f32
  %at65 = arith.constant 65 : index
  // CHECK: o[65] = to_float(to_bf16(float(u32(int(u32(b))))));
  cuda.store %v65, %o[%at65] : f32, !cuda.ptr<f32, global>, index
  %v66 = arith.divf %a, %b fastmath<arcp> : f32
  %at66 = arith.constant 66 : index
  // CHECK: o[66] = divide_approx(a, b);
  cuda.store %v66, %o[%at66] : f32, !cuda.ptr<f32, global>, index
  cuda.return
}

// These two need memory for large arguments: the table of 2 / pi.
// CHECK-LABEL: angles(
cuda.kernel @angles arch "sm_80" threads 32 shared 0
    (%a_in: !cuda.ptr<f32, global> loc("a_in"), %out: !cuda.ptr<f32, global> loc("out"),
     %items: index loc("items")) {
  %i = cuda.thread_index : index loc("i")
  %n = arith.constant 2 : index
  %first = arith.muli %i, %n : index
  %o = cuda.offset %out[%first] : !cuda.ptr<f32, global>, index loc("o")
  %a = cuda.load %a_in[%i] : !cuda.ptr<f32, global>, index -> f32 loc("a")
  %at0 = arith.constant 0 : index
  %at1 = arith.constant 1 : index
  // CHECK: o[0] = sinf(a);
  %v0 = math.sin %a : f32
  cuda.store %v0, %o[%at0] : f32, !cuda.ptr<f32, global>, index
  // CHECK: o[1] = cosf(a);
  %v1 = math.cos %a : f32
  cuda.store %v1, %o[%at1] : f32, !cuda.ptr<f32, global>, index
  cuda.return
}
