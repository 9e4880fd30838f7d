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
