// What schedule-stages refuses.
// RUN: npar-opt %s -schedule-stages -split-input-file -verify-diagnostics

// expected-error @below {{the pipeline has 3 stages but the model repeats only 1 blocks}}
module attributes {dist.mesh = #dist.mesh<pp = 3>, pipe.axis = "pp"} {
  func.func @micro() {
    %x = nn.fill 1.0 {at = #nn.at<F, "", 1>} : tensor<4xf32, #dist.layout<batch : 4>>
    return
  }
}

// -----
// expected-error @below {{the mesh has no axis 'pp' for the pipeline}}
module attributes {dist.mesh = #dist.mesh<dp = 3>, pipe.axis = "pp"} {
  func.func @micro() {
    return
  }
}

// -----
// expected-error @below {{there are 0 micro-batches; there must be at least one}}
module attributes {npar.micro_count = 0 : i64} {
  func.func @micro() {
    return
  }
}

// -----
// expected-error @below {{there is no function @micro to schedule}}
module {
}

// -----
module {
  func.func @micro() {
    // expected-error @below {{has no place in the model (attribute 'at'), and no operand to take it from}}
    %x = nn.fill 1.0 : tensor<4xf32, #dist.layout<batch : 4>>
    return
  }
}

// -----
// expected-error @below {{the pipeline has 2 stages of 2 chunks, 4 parts, but the model repeats only 3 blocks}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", pipe.schedule = "zb_v", npar.blocks = 3 : i64} {
  func.func @micro() {
    return
  }
}

// -----
// expected-error @below {{there is no schedule '2f2b'; there are: naive, gpipe, 1f1b, interleaved}}
module attributes {pipe.schedule = "2f2b"} {
  func.func @micro() {
    return
  }
}

// -----
// expected-error @below {{schedule '1f1b' has 1 chunk per stage, not 3}}
module attributes {pipe.schedule = "1f1b", pipe.chunks = 3 : i64} {
  func.func @micro() {
    return
  }
}

// -----
// A text for another number of stages.
// expected-error @below {{schedule 'mine.csv' has 1 stages, the plan 2}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", npar.blocks = 2 : i64, pipe.schedule = "mine.csv", pipe.schedule_text = "0F0,0B0\0A"} {
  func.func @micro() {
    return
  }
}

// -----
// A text that is wrong in itself.
// expected-error @below {{schedule 'mine.csv', line 1, column 5, stage 0: }}
module attributes {pipe.schedule = "mine.csv", pipe.schedule_text = "0F0,0X0\0A"} {
  func.func @micro() {
    return
  }
}

// -----
// A text with another number of chunks.
// expected-error @below {{schedule 'mine.csv' has 1 chunks per stage, the plan 2}}
module attributes {npar.blocks = 2 : i64, pipe.chunks = 2 : i64, pipe.schedule = "mine.csv", pipe.schedule_text = "0F0,0B0\0A"} {
  func.func @micro() {
    return
  }
}

// -----
// Fewer chunks than none.
// expected-error @below {{schedule 'interleaved' needs at least one chunk per stage, not -2}}
module attributes {npar.blocks = 2 : i64, pipe.chunks = -2 : i64, pipe.schedule = "interleaved"} {
  func.func @micro() {
    return
  }
}

// -----
// expected-error @below {{stages hold 3 of 4 blocks}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", pipe.counts = array<i64: 2, 1>, npar.blocks = 4 : i64} {
  func.func @micro() {
    return
  }
}

// -----
// expected-error @below {{part 1 of 3 has 0 blocks; only the first and the last can do without one}}
module attributes {dist.mesh = #dist.mesh<pp = 3>, pipe.axis = "pp", pipe.counts = array<i64: 2, 0, 2>, npar.blocks = 4 : i64} {
  func.func @micro() {
    return
  }
}

// -----
// expected-error @below {{the plan counts the blocks of 3 parts, but the pipeline has 2 stages}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", pipe.counts = array<i64: 2, 1, 1>, npar.blocks = 4 : i64} {
  func.func @micro() {
    return
  }
}

// -----
// expected-error @below {{the plan counts the blocks of 4 parts, but the schedule has 2}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", pipe.counts = array<i64: 1, 1, 1, 1>, npar.blocks = 4 : i64} {
  func.func @micro() {
    return
  }
}

// -----
// What a schedule holds that looks at no limit.
// expected-error @below {{schedule 'gpipe' holds 4 micro-batches at once on stage 0, but the plan allows 3}}
// expected-note @below {{help: it needs `live 4`; these schedules respect any limit: `by backward_first`, `by zb_auto`}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", npar.blocks = 2 : i64, npar.micro_count = 4 : i64, pipe.schedule = "gpipe",
                   pipe.live = 3.0 : f64} {
  func.func @micro() {
    return
  }
}

// -----
// Not even one micro-batch: what a plan cannot say.
// expected-error @below {{schedule 'zb_auto' needs a memory cap of at least 1 forward activation, not 0.5}}
module attributes {dist.mesh = #dist.mesh<pp = 2>, pipe.axis = "pp", npar.blocks = 2 : i64, pipe.schedule = "zb_auto", pipe.live = 0.5 : f64} {
  func.func @micro() {
    return
  }
}
