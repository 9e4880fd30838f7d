// Everything that the stand-in for cuDNN holds: handles, descriptors with their attributes, and what the environment asks for.
#pragma once

#include "engine/backends/cuda/library/CudnnAbi.h"
#include "tests/engine/backends/standin/Handles.h"

#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace npar::standin::dnn {

using engine::cuda::DnnAttribute;
using engine::cuda::DnnCode;
using engine::cuda::DnnData;
using engine::cuda::DnnDescriptor;
using engine::cuda::DnnMode;
using engine::cuda::DnnNote;
using engine::cuda::DnnPointwise;
using engine::cuda::DnnReduction;
using engine::cuda::DnnType;

/// cudnnStatus_t: what the stand-in gives.
constexpr DnnCode badParameter{2000}, notSupported{3000}, executionFailed{5000};

/// A descriptor, and what it refers to, as long as it lives.
struct Descriptor {
  struct Attribute {
    DnnType type;
    std::vector<uint8_t> bytes;
    std::vector<std::shared_ptr<Descriptor>> others; ///< of Descriptor
  };
  DnnDescriptor kind;
  bool finished = false;
  std::map<DnnAttribute, Attribute> attributes;

  bool has(DnnAttribute attribute) const { return attributes.count(attribute) > 0; }
  template <typename Value> std::vector<Value> list(DnnAttribute attribute) const {
    const std::vector<uint8_t> &bytes = attributes.at(attribute).bytes;
    std::vector<Value> values(bytes.size() / sizeof(Value));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  template <typename Value> Value value(DnnAttribute attribute) const {
    Value value;
    std::memcpy(&value, attributes.at(attribute).bytes.data(), sizeof value);
    return value;
  }
  std::shared_ptr<Descriptor> other(DnnAttribute attribute) const { return attributes.at(attribute).others.front(); }
};
using DescriptorPointer = std::shared_ptr<Descriptor>;

/// A handle of the library's, of one device.
struct Library {
  int device = -1;
  Handle stream = nullptr;
};

/// NPAR_STANDIN_CUDNN, words with commas between them.
struct Wishes {
  bool restless = false; ///< the first engine has bits that do not repeat, and does not declare it
  bool blind = false;    ///< first comes one that forgets the mask
  bool nothing = false;  ///< there is no engine for anything
  size_t version = 91900;
  static Wishes fromEnvironment();
};

struct Everything {
  static Everything &instance();
  ~Everything();
  std::mutex mutex;
  Handles<Library> libraries;
  Handles<Descriptor> descriptors;
  Wishes wishes = Wishes::fromEnvironment();
  std::set<std::string> reasons; ///< of refusals that were printed
};

/// Prints a reason once, and remembers it for cudnnGetLastErrorString.
DnnCode refuse(DnnCode code, const std::string &why);

/// Why a descriptor with all its attributes is none; empty where it is good (Checks.cpp).
std::string whyNot(const Descriptor &descriptor);

} // namespace npar::standin::dnn
