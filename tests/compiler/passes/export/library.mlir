// RUN: npar-opt %s --export-program | FileCheck %s
// RUN: sed 's/dist.library, //' %s | npar-opt --export-program | FileCheck %s --check-prefix=ORDERED --implicit-check-not="by the library"

// What a library may add up under `reduce library`: a sum of floats over dp of what each rank of tp has a piece of, or terms of. What is whole on
// all of these is added up by each group of dp for itself, where another order would part the copies. Maxima and the squares of the
// norm are never the library's.

#own = #dist.layout<embed : 16, out : 16 {tp}>
#own_terms = #dist.layout<embed : 16, out : 16 {tp}, partial = {dp : sum}>
#both = #dist.layout<embed : 16, out : 16, partial = {dp : sum, tp : sum}>
#tp_terms = #dist.layout<embed : 16, out : 16, partial = {tp : sum}>
#dp_terms = #dist.layout<embed : 16, out : 16, partial = {dp : sum}>
#most = #dist.layout<embed : 16, out : 16 {tp}, partial = {dp : max}>
#flat = #dist.layout<embed : 16, out : 16 {tp}, flat = {dp}>
#whole = #dist.layout<embed : 16, out : 16>

module attributes {npar.model = "Sums", npar.plan = "p", npar.batch = 16 : i64, npar.micro_count = 1 : i64, npar.seed = 1 : i64,
                   dist.library, dist.mesh = #dist.mesh<dp = 2, tp = 2>, pipe.schedule = "1f1b"} {
  rank.kernel @fill attributes {extent = 16 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<16x8xf32, #own_terms>
    rank.yield %0 : tensor<16x8xf32, #own_terms>
  }
  rank.kernel @fill_most attributes {extent = 16 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<16x8xf32, #most>
    rank.yield %0 : tensor<16x8xf32, #most>
  }
  rank.kernel @fill_both attributes {extent = 16 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<16x16xf32, #both>
    rank.yield %0 : tensor<16x16xf32, #both>
  }
  pipe.program {schedule = "1f1b", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @U0 stage(0) phase(U) {
    %own = rank.launch @fill() : () -> tensor<16x8xf32, #own_terms>
    %most = rank.launch @fill_most() : () -> tensor<16x8xf32, #most>
    %both = rank.launch @fill_both() : () -> tensor<16x16xf32, #both>
    %0 = dist.all_reduce %own {axes = ["dp"], op = "sum"} : tensor<16x8xf32, #own_terms> -> tensor<16x8xf32, #own>
    %1 = dist.reduce_scatter %own {axes = ["dp"], dim = "#flat", op = "sum"} : tensor<16x8xf32, #own_terms> -> tensor<1024xf32, #flat>
    %2 = dist.all_reduce %both {axes = ["dp"], op = "sum"} : tensor<16x16xf32, #both> -> tensor<16x16xf32, #tp_terms>
    %3 = dist.all_reduce %2 {axes = ["tp"], op = "sum"} : tensor<16x16xf32, #tp_terms> -> tensor<16x16xf32, #whole>
    %4 = dist.all_reduce %both {axes = ["dp", "tp"], op = "sum"} : tensor<16x16xf32, #both> -> tensor<16x16xf32, #whole>
    %5 = dist.all_reduce %most {axes = ["dp"], op = "max"} : tensor<16x8xf32, #most> -> tensor<16x8xf32, #own>
    %6 = dist.all_reduce %own {axes = ["dp"], cause = #dist.cause<kind = adds_owned, operation = "square_sums">, op = "sum"} : tensor<16x8xf32, #own_terms> -> tensor<16x8xf32, #own>
  }
  pipe.order stage(0) ["U0"]
}

// CHECK: all_reduce 128 elements over dp {{.*}} [1, 1, 1] by the library {embed : 16, out : 16 {tp}, partial
// CHECK: reduce_scatter 128 elements over dp {{.*}} of 128 by the library {embed
// CHECK: all_reduce 256 elements over dp {{.*}} by the library {embed : 16, out : 16, partial = {dp : sum, tp : sum}}
// CHECK: all_reduce 256 elements over tp {{.*}} [1, 1, 1] {embed
// CHECK: all_reduce 256 elements over dp, tp {{.*}} by the library {embed
// CHECK: max of f32, {{.*}} [1, 1, 1] {embed
// CHECK: sum of f32, {{.*}} [1, 1, 1] {embed {{.*}} adds what each rank owns

// ORDERED: all_reduce 128 elements
