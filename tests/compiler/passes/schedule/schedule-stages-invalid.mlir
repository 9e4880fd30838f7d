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
