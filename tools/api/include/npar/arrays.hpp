/// Arrays that a host lends to npar, and views of memory that npar owns. Include npar.hpp.
#ifndef NPAR_ARRAYS_HPP
#define NPAR_ARRAYS_HPP

#include <npar/errors.hpp>

#include <type_traits>

namespace npar {
inline namespace v0 {

/// Floats of 16 bits, which C++17 has no arithmetic for.
struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

/// The npar_dtype of a C++ type; 0 if it has none.
template <typename T> constexpr npar_dtype dtypeOf() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>)
    return NPAR_BOOL;
  else if constexpr (std::is_same_v<U, Float16>)
    return NPAR_F16;
  else if constexpr (std::is_same_v<U, BFloat16>)
    return NPAR_BF16;
  else if constexpr (std::is_floating_point_v<U>)
    return sizeof(U) == 8 ? NPAR_F64 : sizeof(U) == 4 ? NPAR_F32 : 0;
  else if constexpr (std::is_integral_v<U>) {
    constexpr bool isSigned = std::is_signed_v<U>;
    switch (sizeof(U)) {
    case 8:
      return isSigned ? NPAR_I64 : NPAR_U64;
    case 4:
      return isSigned ? NPAR_I32 : NPAR_U32;
    case 2:
      return isSigned ? NPAR_I16 : NPAR_U16;
    default:
      return isSigned ? NPAR_I8 : NPAR_U8;
    }
  } else
    return 0;
}

/// An array in the host's memory, which the host keeps during the call that takes it. Its elements are not copied.
class Array {
public:
  /// `shape`: sizes, outermost first. `strides`: in elements; none: row-major without gaps.
  template <typename T>
  Array(const T *elements, std::vector<int64_t> shape, std::vector<int64_t> strides = {})
      : data(const_cast<std::remove_const_t<T> *>(elements)), dtype(dtypeOf<T>()), sizes(std::move(shape)), steps(std::move(strides)) {
    static_assert(dtypeOf<T>() != 0, "npar_dtype has no such type");
  }
  /// One dimension, or the row-major elements of an array of this shape. The call refuses a vector of too few elements.
  template <typename T> Array(const std::vector<T> &elements) : Array(elements.data(), {static_cast<int64_t>(elements.size())}) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements in memory");
  }
  template <typename T> Array(const std::vector<T> &elements, std::vector<int64_t> shape) : Array(elements.data(), std::move(shape)) {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no elements in memory");
    if (count() > elements.size())
      lacking = elements.size();
  }
  template <typename T> Array(std::vector<T> &&, std::vector<int64_t> = {}) = delete; // would be gone before it is read

  /// The memory of a managed DLPack tensor of version 1, valid until its deleter is called.
  static Result<Array> fromDlPack(const void *managed) {
    npar_array given = {};
    detail::Failure failure;
    if (npar_code code = npar_array_from_dlpack(managed, &given, failure.out()); code != NPAR_OK)
      return failure.take(code);
    return Array(given);
  }

  /// Why a call refuses the array, for the input or parameter `name`; empty if it does not.
  std::string refusal(std::string_view name) const {
    return lacking ? "'" + std::string(name) + "': the shape has " + std::to_string(count()) + " elements, and the vector " +
                         std::to_string(*lacking)
                   : "";
  }
  /// For calls of npar.h; valid as long as this object.
  npar_array raw() const {
    return {lacking ? nullptr : data, dtype, static_cast<int32_t>(sizes.size()), sizes.data(), steps.empty() ? nullptr : steps.data()};
  }

private:
  explicit Array(const npar_array &from) : data(from.data), dtype(from.dtype), sizes(from.shape, from.shape + from.ndim) {
    if (from.strides)
      steps.assign(from.strides, from.strides + from.ndim);
  }
  size_t count() const {
    size_t product = 1;
    for (int64_t size : sizes)
      product *= static_cast<size_t>(size);
    return product;
  }

  void *data = nullptr;
  npar_dtype dtype = 0;
  std::vector<int64_t> sizes, steps;
  std::optional<size_t> lacking; ///< the elements of a vector that has too few
};

/// A live, read-only array of npar: the next step changes its elements. It keeps the trainer's memory.
template <typename T> class ArrayView {
public:
  const T *data() const { return first; }
  const std::vector<int64_t> &shape() const { return sizes; }
  const std::vector<int64_t> &strides() const { return steps; } ///< in elements
  /// Number of elements.
  size_t size() const {
    size_t product = 1;
    for (int64_t each : sizes)
      product *= static_cast<size_t>(each);
    return product;
  }
  /// The element at one index per dimension, unchecked.
  template <typename... Indices> const T &operator()(Indices... indices) const {
    const T *at = first;
    size_t d = 0;
    ((at += static_cast<int64_t>(indices) * steps[d++]), ...);
    return *at;
  }

private:
  friend class AnyView;
  const T *first = nullptr;
  std::vector<int64_t> sizes, steps;
  std::shared_ptr<const void> owner;
};

/// An ArrayView whose type is known only when the program runs.
class AnyView {
public:
  AnyView(const npar_array &from, std::shared_ptr<const void> keeper)
      : first(from.data), type(from.dtype), sizes(from.shape, from.shape + from.ndim), owner(std::move(keeper)) {
    if (from.strides)
      steps.assign(from.strides, from.strides + from.ndim);
    else {
      steps.assign(sizes.size(), 1);
      for (size_t d = sizes.size(); d-- > 1;)
        steps[d - 1] = steps[d] * sizes[d];
    }
  }
  npar_dtype dtype() const { return type; }
  const std::vector<int64_t> &shape() const { return sizes; }
  /// Usage if the elements have another type than T.
  template <typename T> Result<ArrayView<T>> as() const {
    if (dtypeOf<T>() != type)
      return detail::usage("the view has npar_dtype " + std::to_string(type) + ", and npar_dtype " + std::to_string(dtypeOf<T>()) +
                           " was asked for");
    ArrayView<T> view;
    view.first = static_cast<const T *>(first), view.sizes = sizes, view.steps = steps, view.owner = owner;
    return view;
  }

private:
  const void *first;
  npar_dtype type;
  std::vector<int64_t> sizes, steps;
  std::shared_ptr<const void> owner;
};

/// A rectangle of a parameter on one rank, or, with ZeRO, a range of its elements in row-major order.
struct Piece {
  int64_t rank = 0;
  bool owned = false;         ///< the pieces with true cover the parameter exactly once; false: a replica
  bool flat = false;          ///< `view` has one dimension, of elements from number `first` on
  int64_t first = 0;          ///< if flat
  std::vector<int64_t> start; ///< if not flat: index of its first element in the parameter
  AnyView view;
};

/// A parameter, an optimizer state or an output as a row-major copy.
template <typename T> struct Values {
  std::vector<T> elements;
  std::vector<int64_t> shape;
};

} // namespace v0
} // namespace npar

#endif
