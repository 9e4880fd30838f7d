#include "Tensors.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <unistd.h>

namespace npar_python {

namespace {

/// A managed tensor that is given away, with the memory that it needs.
template <typename Managed> struct Given {
  Managed managed = {};
  std::vector<int64_t> sizes; ///< shape, then strides
  std::shared_ptr<const void> owner;
};

/// Copies the elements of an array in row-major order.
void copyElements(const DlTensor &from, const std::vector<int64_t> &strides, size_t width, char *into) {
  size_t count = 1;
  for (int32_t d = 0; d < from.ndim; ++d)
    count *= static_cast<size_t>(from.shape[d]);
  std::vector<int64_t> index(static_cast<size_t>(from.ndim));
  int64_t at = 0; // in elements
  for (size_t i = 0; i < count; ++i, into += width) {
    std::memcpy(into, static_cast<const char *>(from.data) + from.byteOffset + at * static_cast<int64_t>(width), width);
    for (size_t d = index.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < from.shape[d])
        break;
      at -= index[d] * strides[d];
      index[d] = 0;
    }
  }
}

std::vector<int64_t> rowMajor(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// A consumer renames the capsule of a tensor that it takes. A capsule with its first name still owns the tensor.
template <typename Managed> nb::object capsuleOf(std::unique_ptr<Given<Managed>> given, const char *name) {
  given->managed.context = given.get();
  given->managed.deleter = [](Managed *self) { delete static_cast<Given<Managed> *>(self->context); };
  constexpr auto drop = [](PyObject *capsule) {
    const char *its = PyCapsule_GetName(capsule);
    if (its && std::strncmp(its, "used_", 5) != 0)
      if (auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, its)))
        managed->deleter(managed);
  };
  nb::object made = nb::steal(PyCapsule_New(&given->managed, name, drop));
  if (!made.is_valid())
    throw nb::python_error();
  given.release(); // the capsule owns it
  return made;
}

} // namespace

// After a fork the child has none of the threads with which a trainer's memory could be freed.
Tensor::Tensor(void *managed)
    : owner(static_cast<DlManagedVersioned *>(managed), [pid = ::getpid()](DlManagedVersioned *each) {
        if (::getpid() == pid)
          each->deleter(each);
      }) {}

std::vector<int64_t> Tensor::strides() const {
  return array().strides ? std::vector<int64_t>(array().strides, array().strides + array().ndim) : rowMajor(shape());
}

std::string Tensor::dtype() const {
  const DlType &type = array().dtype;
  const char *kind = type.code == 0 ? "int" : type.code == 1 ? "uint" : type.code == 2 ? "float" : type.code == 4 ? "bfloat" : "bool";
  return type.code == 6 ? kind : kind + std::to_string(type.bits);
}

nb::object Tensor::capsule(bool versioned, bool copied) const {
  DlTensor tensor = array();
  std::vector<int64_t> steps = strides();
  std::shared_ptr<const void> keeper = owner;
  if (copied) {
    const size_t width = tensor.dtype.bits / 8u;
    size_t count = 1;
    for (int64_t size : shape())
      count *= static_cast<size_t>(size);
    auto bytes = std::make_shared<std::vector<char>>(count * width);
    copyElements(tensor, steps, width, bytes->data());
    tensor.data = bytes->data(), tensor.byteOffset = 0, steps = rowMajor(shape());
    keeper = std::move(bytes);
  }
  auto fill = [&](auto &given) {
    given.sizes = shape();
    given.sizes.insert(given.sizes.end(), steps.begin(), steps.end());
    given.owner = std::move(keeper);
    given.managed.tensor = tensor;
    given.managed.tensor.shape = given.sizes.data();
    given.managed.tensor.strides = given.sizes.data() + tensor.ndim;
  };
  if (!versioned) {
    auto given = std::make_unique<Given<DlManaged>>();
    fill(*given);
    return capsuleOf(std::move(given), "dltensor");
  }
  auto given = std::make_unique<Given<DlManagedVersioned>>();
  fill(*given);
  given->managed.major = 1;
  given->managed.flags = copied ? dlIsCopied : owner->flags;
  return capsuleOf(std::move(given), "dltensor_versioned");
}

void addTensors(nb::module_ &module) {
  nb::class_<Tensor>(module, "Tensor")
      .def_prop_ro("shape", &Tensor::shape)
      .def_prop_ro("strides", &Tensor::strides)
      .def_prop_ro("dtype", &Tensor::dtype)
      .def_prop_ro("read_only", &Tensor::isReadOnly)
      .def_prop_ro("device", [](const Tensor &tensor) { return std::pair(tensor.array().device.type, tensor.array().device.id); })
      .def("capsule", &Tensor::capsule);
}

} // namespace npar_python
