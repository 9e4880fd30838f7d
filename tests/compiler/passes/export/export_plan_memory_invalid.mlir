// RUN: npar-opt %s --export-plan-memory --split-input-file --verify-diagnostics

// Arithmetic must have been outlined.
module attributes {dist.mesh = #dist.mesh<>} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    // expected-error @+1 {{cannot be a step of a rank program: run 'export-outline-kernels' first}}
    %0 = nn.fill 1.0 : tensor<4xf32, #dist.layout<embed : 4>>
  }
  pipe.order stage(0) ["F0:0"]
}

// -----

// expected-error @+1 {{holds no 'pipe.program': run the schedule phase first}}
module {
}

// -----

// A library product has a type of the program's tables.
module attributes {dist.mesh = #dist.mesh<>} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = nn.input "x" : tensor<4x4xf16, #dist.layout<row : 4, column : 4>>
    // expected-error @+1 {{has an element type that no program holds}}
    %0 = rank.matmul %x, %x {batch = array<i64>, m = 4 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 4, 1>, b = array<i64: 4, 1>,
        c = array<i64: 4, 1>} : (tensor<4x4xf16, #dist.layout<row : 4, column : 4>>, tensor<4x4xf16, #dist.layout<row : 4, column : 4>>)
        -> tensor<4x4xf16, #dist.layout<row : 4, column : 4>>
  }
  pipe.order stage(0) ["F0:0"]
}

// -----

// And so has what ranks exchange.
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = nn.input "x" : tensor<2xf16, #dist.layout<embed : 4 {tp}>>
    // expected-error @+1 {{has an element type that no program holds}}
    %0 = dist.all_gather %x {axes = ["tp"], dim = "embed"} : tensor<2xf16, #dist.layout<embed : 4 {tp}>> -> tensor<4xf16, #dist.layout<embed : 4>>
  }
  pipe.order stage(0) ["F0:0"]
}

// -----

// The mesh is the program's, also where a fragment has one of its own.
module attributes {dist.mesh = #dist.mesh<dp = 2>} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) attributes {dist.mesh = #dist.mesh<tp = 2>} {
    %x = nn.input "x" : tensor<2xf32, #dist.layout<embed : 4 {tp}>>
    // expected-error @+1 {{works over mesh axis 'tp', which the mesh does not have}}
    %0 = dist.all_gather %x {axes = ["tp"], dim = "embed"} : tensor<2xf32, #dist.layout<embed : 4 {tp}>> -> tensor<4xf32, #dist.layout<embed : 4>>
  }
  pipe.order stage(0) ["F0:0"]
}

// -----

// A stage's tasks run its own fragments.
module attributes {dist.mesh = #dist.mesh<>} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
  }
  // expected-error @+1 {{names fragment 'B0', which stage 0 does not have}}
  pipe.order stage(0) ["F0:0", "B0:0"]
}
