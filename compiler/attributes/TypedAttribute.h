// Classes for the attributes that phases leave for each other on a module or an operation. Each object is a name with the type of its
// value.
#pragma once

#include "engine/program/Words.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace npar::attributes {

/// The name of an attribute, whatever its type.
class Name {
public:
  constexpr explicit Name(llvm::StringLiteral name) : name(name) {}
  constexpr llvm::StringRef str() const { return name; }
  bool isOn(mlir::Operation *op) const { return op->hasAttr(name); }
  void remove(mlir::Operation *op) const { op->removeAttr(name); }
  /// Gives the attribute of `from`, if it has it, to `to`.
  void copy(mlir::Operation *from, mlir::Operation *to) const {
    if (mlir::Attribute value = from->getAttr(name))
      to->setAttr(name, value);
  }

protected:
  llvm::StringLiteral name;
};

/// An attribute without a value: an operation has it or not.
class Mark : public Name {
public:
  using Name::Name;
  void set(mlir::Operation *op) const { op->setAttr(name, mlir::UnitAttr::get(op->getContext())); }
};

/// An attribute of one class of MLIR or of a dialect. `get` returns null if the operation lacks it.
template <typename AttrT> class Value : public Name {
public:
  using Name::Name;
  AttrT get(mlir::Operation *op) const { return op->getAttrOfType<AttrT>(name); }
  void set(mlir::Operation *op, AttrT value) const { op->setAttr(name, value); }
};

/// An integer of 64 bits.
class Integer : public Name {
public:
  using Name::Name;
  std::optional<int64_t> get(mlir::Operation *op) const {
    auto value = op->getAttrOfType<mlir::IntegerAttr>(name);
    return value ? std::optional(value.getInt()) : std::nullopt;
  }
  void set(mlir::Operation *op, int64_t value) const { op->setAttr(name, mlir::Builder(op->getContext()).getI64IntegerAttr(value)); }
};

/// A number of type f64.
class Real : public Name {
public:
  using Name::Name;
  std::optional<double> get(mlir::Operation *op) const {
    auto value = op->getAttrOfType<mlir::FloatAttr>(name);
    return value ? std::optional(value.getValueAsDouble()) : std::nullopt;
  }
  void set(mlir::Operation *op, double value) const { op->setAttr(name, mlir::Builder(op->getContext()).getF64FloatAttr(value)); }
};

/// A string. `get` returns null if the operation lacks it, `text` the empty string.
class Text : public Name {
public:
  using Name::Name;
  mlir::StringAttr get(mlir::Operation *op) const { return op->getAttrOfType<mlir::StringAttr>(name); }
  std::string text(mlir::Operation *op) const {
    mlir::StringAttr value = get(op);
    return value ? value.str() : std::string();
  }
  void set(mlir::Operation *op, llvm::StringRef value) const { op->setAttr(name, mlir::StringAttr::get(op->getContext(), value)); }
};

/// The word of a value of an enumeration of the compiled program (engine/program/Words.h). `get` returns null if the operation lacks it; in
/// a module that was read from a file the word may be unknown.
template <typename Enum> class Word : public Name {
public:
  using Name::Name;
  mlir::StringAttr get(mlir::Operation *op) const { return op->getAttrOfType<mlir::StringAttr>(name); }
  bool is(mlir::Operation *op, Enum value) const {
    mlir::StringAttr word = get(op);
    return word && word.getValue() == program::wordOf(value);
  }
  void set(mlir::Operation *op, Enum value) const { op->setAttr(name, mlir::StringAttr::get(op->getContext(), program::wordOf(value))); }
};

/// A list of attributes of one class. `get` returns an empty list if the operation lacks it.
template <typename AttrT> class List : public Name {
public:
  using Name::Name;
  auto get(mlir::Operation *op) const {
    llvm::SmallVector<AttrT> values;
    if (auto list = op->getAttrOfType<mlir::ArrayAttr>(name))
      llvm::append_range(values, list.getAsRange<AttrT>());
    return values;
  }
  void set(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> values) const {
    op->setAttr(name, mlir::ArrayAttr::get(op->getContext(), values));
  }
};

} // namespace npar::attributes
