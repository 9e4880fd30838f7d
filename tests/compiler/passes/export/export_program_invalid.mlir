// RUN: npar-opt %s --export-program --split-input-file --verify-diagnostics

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
  rank.kernel @fill attributes {extent = 4 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<4x4xf8E5M2, #dist.layout<row : 4, column : 4>>
    rank.yield %0 : tensor<4x4xf8E5M2, #dist.layout<row : 4, column : 4>>
  }
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @fill() : () -> tensor<4x4xf8E5M2, #dist.layout<row : 4, column : 4>>
    // expected-error @+1 {{has an element type that no program holds}}
    %0 = rank.matmul %x, %x {batch = array<i64>, m = 4 : i64, n = 4 : i64, k = 4 : i64, a = array<i64: 4, 1>, b = array<i64: 4, 1>,
        c = array<i64: 4, 1>} : (tensor<4x4xf8E5M2, #dist.layout<row : 4, column : 4>>, tensor<4x4xf8E5M2, #dist.layout<row : 4, column : 4>>)
        -> tensor<4x4xf8E5M2, #dist.layout<row : 4, column : 4>>
  }
  pipe.order stage(0) ["F0:0"]
}

// -----

// A library counts rows, columns and terms in 32 bits.
module attributes {dist.mesh = #dist.mesh<>} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = nn.input "x" : tensor<2147483648x1xf32, #dist.layout<row : 2147483648, column : 1>>
    %w = nn.input "w" : tensor<1x1xf32, #dist.layout<column : 1, out : 1>>
    // expected-error @+1 {{is a product with a side of 2147483648, library products take at most 2147483647: use a smaller 'micro' or split an axis}}
    %0 = rank.matmul %x, %w {batch = array<i64>, m = 2147483648 : i64, n = 1 : i64, k = 1 : i64, a = array<i64: 1, 1>, b = array<i64: 1, 1>,
        c = array<i64: 1, 1>} : (tensor<2147483648x1xf32, #dist.layout<row : 2147483648, column : 1>>, tensor<1x1xf32, #dist.layout<column : 1, out : 1>>)
        -> tensor<2147483648x1xf32, #dist.layout<row : 2147483648, out : 1>>
  }
  pipe.order stage(0) ["F0:0"]
}

// -----

// And so has what ranks exchange.
module attributes {dist.mesh = #dist.mesh<tp = 2>} {
  rank.kernel @fill attributes {extent = 4 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<2xf8E5M2, #dist.layout<embed : 4 {tp}>>
    rank.yield %0 : tensor<2xf8E5M2, #dist.layout<embed : 4 {tp}>>
  }
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @fill() : () -> tensor<2xf8E5M2, #dist.layout<embed : 4 {tp}>>
    // expected-error @+1 {{has an element type that no program holds}}
    %0 = dist.all_gather %x {axes = ["tp"], dim = "embed"} : tensor<2xf8E5M2, #dist.layout<embed : 4 {tp}>> -> tensor<4xf8E5M2, #dist.layout<embed : 4>>
  }
  pipe.order stage(0) ["F0:0"]
}

// -----

// Between stages too.
module attributes {dist.mesh = #dist.mesh<pp = 2>} {
  rank.kernel @fill attributes {extent = 4 : i64, flops = 1.0 : f64} {
    %0 = nn.fill 1.0 : tensor<2xf8E5M2, #dist.layout<embed : 2>>
    rank.yield %0 : tensor<2xf8E5M2, #dist.layout<embed : 2>>
  }
  pipe.program {schedule = "1f1b", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = rank.launch @fill() : () -> tensor<2xf8E5M2, #dist.layout<embed : 2>>
    // expected-error @+1 {{has an element type that no program holds}}
    pipe.send %x to(1) event(0) : tensor<2xf8E5M2, #dist.layout<embed : 2>>
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

// -----

// What a backward takes up again, a forward has kept.
// expected-error @+1 {{internal error: fragment 'B0' unstashes 's0', which no earlier fragment keeps in this size}}
module attributes {dist.mesh = #dist.mesh<>} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @B0 stage(0) phase(B) {
    %0 = pipe.unstash slot("s0") : tensor<4xf32, #dist.layout<embed : 4>>
  }
  pipe.order stage(0) ["B0:0"]
}

// -----

// Two fragments that each take up what the other has kept.
// expected-error @+1 {{internal error: fragments of 'stage0' keep values for each other in a cycle}}
module attributes {dist.mesh = #dist.mesh<>} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %0 = pipe.unstash slot("a") : tensor<4xf32, #dist.layout<embed : 4>>
    pipe.stash %0 slot("b") : tensor<4xf32, #dist.layout<embed : 4>>
  }
  pipe.fragment @B0 stage(0) phase(B) {
    %0 = pipe.unstash slot("b") : tensor<4xf32, #dist.layout<embed : 4>>
    pipe.stash %0 slot("a") : tensor<4xf32, #dist.layout<embed : 4>>
  }
  pipe.order stage(0) ["F0:0", "B0:0"]
}

// -----

// Two stages that each wait for the other's value before they send their own.
// expected-error @+1 {{internal error: the planned program is not sound: }}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp"} {
  rank.kernel @relu attributes {extent = 4 : i64, flops = 1.0 : f64} {
  ^bb0(%x: tensor<4xf32, #dist.layout<embed : 4>>):
    %0 = nn.relu %x : (tensor<4xf32, #dist.layout<embed : 4>>) -> tensor<4xf32, #dist.layout<embed : 4>>
    rank.yield %0 : tensor<4xf32, #dist.layout<embed : 4>>
  }
  pipe.program {schedule = "none", axis = "pp", stages = 2 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    %x = pipe.recv from(1) event(1) : tensor<4xf32, #dist.layout<embed : 4>>
    %y = rank.launch @relu(%x) : (tensor<4xf32, #dist.layout<embed : 4>>) -> tensor<4xf32, #dist.layout<embed : 4>>
    pipe.send %y to(1) event(0) : tensor<4xf32, #dist.layout<embed : 4>>
  }
  pipe.fragment @F1 stage(1) phase(F) {
    %x = pipe.recv from(0) event(0) : tensor<4xf32, #dist.layout<embed : 4>>
    %y = rank.launch @relu(%x) : (tensor<4xf32, #dist.layout<embed : 4>>) -> tensor<4xf32, #dist.layout<embed : 4>>
    pipe.send %y to(0) event(1) : tensor<4xf32, #dist.layout<embed : 4>>
  }
  pipe.order stage(0) ["F0:0"]
  pipe.order stage(1) ["F1:0"]
}

// -----

// A variable is written where nobody reads its old contents any more: two writes before that leave no place for the first.
#v = #dist.layout<embed : 4>
// expected-error @+1 {{internal error: fragment 'U0' writes a variable twice while its old value is still read}}
module attributes {dist.mesh = #dist.mesh<>} {
  nn.variable @w : tensor<4xf32, #v> {kind = #nn.kind<parameter>, stages = [0], stored = [4], init = #nn.init<ones>, index = 0 : i64}
  rank.kernel @add attributes {extent = 4 : i64, flops = 1.0 : f64} {
  ^bb0(%x: tensor<4xf32, #v>, %y: tensor<4xf32, #v>):
    %0 = nn.add %x, %y : (tensor<4xf32, #v>, tensor<4xf32, #v>) -> tensor<4xf32, #v>
    rank.yield %0 : tensor<4xf32, #v>
  }
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @U0 stage(0) phase(U) {
    %old = nn.read @w : tensor<4xf32, #v>
    %x = nn.input "x" : tensor<4xf32, #v>
    %1 = rank.launch @add(%old, %x) : (tensor<4xf32, #v>, tensor<4xf32, #v>) -> tensor<4xf32, #v>
    nn.write @w, %1 : tensor<4xf32, #v>
    nn.write @w, %x : tensor<4xf32, #v>
    %2 = rank.launch @add(%old, %1) : (tensor<4xf32, #v>, tensor<4xf32, #v>) -> tensor<4xf32, #v>
  }
  pipe.order stage(0) ["U0"]
}

// -----

// Nor can old and new contents be in one place.
#v = #dist.layout<embed : 4>
// expected-error @+1 {{internal error: fragment 'U0' needs the old and the new value of a variable at the same time}}
module attributes {dist.mesh = #dist.mesh<>} {
  nn.variable @w : tensor<4xf32, #v> {kind = #nn.kind<parameter>, stages = [0], stored = [4], init = #nn.init<ones>, index = 0 : i64}
  rank.kernel @add attributes {extent = 4 : i64, flops = 1.0 : f64} {
  ^bb0(%x: tensor<4xf32, #v>, %y: tensor<4xf32, #v>):
    %0 = nn.add %x, %y : (tensor<4xf32, #v>, tensor<4xf32, #v>) -> tensor<4xf32, #v>
    rank.yield %0 : tensor<4xf32, #v>
  }
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @U0 stage(0) phase(U) {
    %old = nn.read @w : tensor<4xf32, #v>
    %x = nn.input "x" : tensor<4xf32, #v>
    nn.write @w, %x : tensor<4xf32, #v>
    %new = nn.read @w : tensor<4xf32, #v>
    %1 = rank.launch @add(%new, %old) : (tensor<4xf32, #v>, tensor<4xf32, #v>) -> tensor<4xf32, #v>
  }
  pipe.order stage(0) ["U0"]
}

// -----

// What data are, too.
module attributes {dist.mesh = #dist.mesh<>} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
    // expected-error @+1 {{has an element type that no program holds}}
    %x = nn.input "x" : tensor<4xf8E5M2, #dist.layout<row : 4>>
  }
  pipe.order stage(0) ["F0:0"]
}

// -----

// A kind that there is not.
// expected-error @+1 {{internal error: the program's kind is 'guessing', which there is not}}
module attributes {dist.mesh = #dist.mesh<>, npar.kind = "guessing"} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
}

// -----

// An order of products that there is not.
// expected-error @+1 {{internal error: there is no order of products 'random'}}
module attributes {dist.mesh = #dist.mesh<>, npar.product_order = "random"} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
}

// -----

// A learning rate has all its fields.
// expected-error @+1 {{the attribute 'npar.rates' has a learning rate that lacks a field}}
module attributes {dist.mesh = #dist.mesh<>, npar.rates = [{schedule = "constant"}]} {
  pipe.program {schedule = "none", stages = 1 : i64, micro_count = 1 : i64}
  pipe.fragment @F0 stage(0) phase(F) {
  }
  pipe.order stage(0) ["F0:0"]
}
