// Messages and files as FlatBuffers: turns an object of a generated class into bytes, and untrusted bytes into an object.
#pragma once

#include "engine/tables/TableCheck.h"

#include <cstdint>
#include <vector>

namespace npar::tables {

/// The finished bytes of `root`, the last table that the builder made.
template <typename Root> std::vector<uint8_t> finish(flatbuffers::FlatBufferBuilder &builder, flatbuffers::Offset<Root> root) {
  builder.Finish(root);
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

/// The bytes of an object (`MessageT`) whose class flatc has generated.
template <typename Object> std::vector<uint8_t> pack(const Object &object) {
  flatbuffers::FlatBufferBuilder builder;
  return finish(builder, Object::TableType::Pack(builder, &object));
}

/// The root table, or null if the bytes are not a well-formed one. Accepts any bytes. A copy of the table takes no more memory than a small
/// multiple of the bytes: no string or vector is shared, and there are at most a quarter as many tables as bytes, 8 levels deep. The reader
/// must still check numbers, values of enumerations and its own limits. Only a root may have vectors of strings: the verifier would
/// otherwise read a shared one once for each table.
template <typename Root> const Root *read(const std::vector<uint8_t> &bytes) {
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return nullptr;
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), /*max_depth=*/8, static_cast<flatbuffers::uoffset_t>(bytes.size() / 4));
  if (!verifier.VerifyBuffer<Root>(nullptr))
    return nullptr;
  auto *root = flatbuffers::GetRoot<Root>(bytes.data());
  return isTree(reinterpret_cast<const flatbuffers::Table &>(*root), *Root::MiniReflectTypeTable(), bytes.size()) ? root : nullptr;
}

/// Replaces `object` by the one that was packed; false if `read` finds none.
template <typename Object> bool unpack(const std::vector<uint8_t> &bytes, Object &object) {
  auto *root = read<typename Object::TableType>(bytes);
  object = Object();
  if (root)
    root->UnPackTo(&object);
  return root;
}

/// True if an enumeration of flatc has the value.
template <typename Enum> bool isAmong(Enum value) { return value >= Enum::MIN && value <= Enum::MAX; }

} // namespace npar::tables
