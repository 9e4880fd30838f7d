// Reads and writes the fields of a dictionary attribute by their names.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::attributes {

/// Collects the fields of a dictionary; `addGiven` leaves out what is null or not given.
class FieldWriter {
public:
  explicit FieldWriter(mlir::MLIRContext *context) : builder(context) {}

  void add(llvm::StringRef name, mlir::Attribute value) { fields.push_back(builder.getNamedAttr(name, value)); }
  void addText(llvm::StringRef name, llvm::StringRef value) { add(name, builder.getStringAttr(value)); }
  void addInteger(llvm::StringRef name, int64_t value) { add(name, builder.getI64IntegerAttr(value)); }
  void addReal(llvm::StringRef name, double value) { add(name, builder.getF64FloatAttr(value)); }
  void addBool(llvm::StringRef name, bool value) { add(name, builder.getBoolAttr(value)); }
  void addList(llvm::StringRef name, llvm::ArrayRef<mlir::Attribute> values) { add(name, builder.getArrayAttr(values)); }
  void addIntegers(llvm::StringRef name, llvm::ArrayRef<int64_t> values) { add(name, builder.getDenseI64ArrayAttr(values)); }
  template <typename Texts> void addTexts(llvm::StringRef name, const Texts &values) {
    add(name, builder.getStrArrayAttr(llvm::SmallVector<llvm::StringRef>(values.begin(), values.end())));
  }
  void addGiven(llvm::StringRef name, mlir::Attribute value) {
    if (value)
      add(name, value);
  }
  void addGiven(llvm::StringRef name, mlir::Type type) {
    if (type)
      add(name, mlir::TypeAttr::get(type));
  }
  mlir::DictionaryAttr get() { return builder.getDictionaryAttr(fields); }

private:
  mlir::Builder builder;
  llvm::SmallVector<mlir::NamedAttribute> fields;
};

/// Reads the fields of a dictionary. A field that is missing or of another type reads as nothing: empty, 0, false or null.
class FieldReader {
public:
  explicit FieldReader(mlir::DictionaryAttr from) : from(from) {}

  template <typename AttrT> AttrT get(llvm::StringRef name) const { return from.getAs<AttrT>(name); }
  bool has(llvm::StringRef name) const { return from.contains(name); }
  llvm::StringRef text(llvm::StringRef name) const {
    auto value = get<mlir::StringAttr>(name);
    return value ? value.getValue() : llvm::StringRef();
  }
  std::optional<int64_t> givenInteger(llvm::StringRef name) const {
    auto value = get<mlir::IntegerAttr>(name);
    return value ? std::optional(value.getInt()) : std::nullopt;
  }
  int64_t integer(llvm::StringRef name) const { return givenInteger(name).value_or(0); }
  std::optional<double> givenReal(llvm::StringRef name) const {
    auto value = get<mlir::FloatAttr>(name);
    return value ? std::optional(value.getValueAsDouble()) : std::nullopt;
  }
  double real(llvm::StringRef name) const { return givenReal(name).value_or(0); }
  bool boolean(llvm::StringRef name) const {
    auto value = get<mlir::BoolAttr>(name);
    return value && value.getValue();
  }
  mlir::Type type(llvm::StringRef name) const {
    auto value = get<mlir::TypeAttr>(name);
    return value ? value.getValue() : mlir::Type();
  }
  mlir::LocationAttr location(llvm::StringRef name) const { return get<mlir::LocationAttr>(name); }
  llvm::ArrayRef<int64_t> integers(llvm::StringRef name) const {
    auto value = get<mlir::DenseI64ArrayAttr>(name);
    return value ? value.asArrayRef() : llvm::ArrayRef<int64_t>();
  }
  template <typename AttrT> llvm::SmallVector<AttrT> list(llvm::StringRef name) const {
    auto value = get<mlir::ArrayAttr>(name);
    return value ? llvm::to_vector(value.getAsRange<AttrT>()) : llvm::SmallVector<AttrT>();
  }
  /// `Text` is a string or a view of one.
  template <typename Text> std::vector<Text> texts(llvm::StringRef name) const {
    std::vector<Text> result;
    for (mlir::StringAttr each : list<mlir::StringAttr>(name))
      result.emplace_back(each.getValue());
    return result;
  }

private:
  mlir::DictionaryAttr from;
};

} // namespace npar::attributes
