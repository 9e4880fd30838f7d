// Trees of nlohmann-json for a program that survives a failed allocation. The library's destructor allocates a stack, and a destructor that
// throws ends the process. Its constructor from a list leaks the members made so far. Json and OrderedJson have versions of both that do
// neither.
#pragma once

#include "engine/json/JsonForward.h"

// The library asserts that an array or a string is never null. It is, for a moment, after its allocation has failed.
#define JSON_ASSERT(condition) static_cast<void>(0)
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>

namespace npar {

template <typename T, typename Enable> struct JsonSerializer : nlohmann::adl_serializer<T, Enable> {};

namespace json_memory {

using Type = nlohmann::detail::value_t;

template <typename Tree> Tree &treeOf(Tree &element) { return element; }
template <typename Key, typename Tree> Tree &treeOf(std::pair<const Key, Tree> &member) { return member.second; }

/// Calls `visit` with the array or with the members of a tree, if it is not null after an allocation has failed.
template <typename Tree, typename Visit> void withElements(Tree &tree, Visit visit) {
  if (auto *array = tree.template get_ptr<typename Tree::array_t *>())
    visit(*array);
  else if (auto *object = tree.template get_ptr<typename Tree::object_t *>())
    visit(*object);
}

template <typename Tree> bool hasElements(Tree &tree) {
  bool has = false;
  withElements(tree, [&](const auto &elements) { has = !elements.empty(); });
  return has;
}

/// Empties a tree of any depth without recursion and without memory (Schorr and Waite, "An efficient machine-independent procedure", CACM
/// 1967): before it descends into the last element, that element's own first element takes its place, and the tree above is stored there.
template <typename Tree> void clear(Tree tree) noexcept {
  for (size_t depth = 0; hasElements(tree);) {
    Tree next;
    withElements(tree, [&](auto &elements) {
      auto last = std::prev(elements.end());
      const bool isTreeAbove = depth > 0 && elements.size() == 1;
      if (isTreeAbove || !hasElements(treeOf(*last))) {
        std::swap(next, isTreeAbove ? treeOf(*last) : tree);
        elements.erase(last);
        depth -= isTreeAbove ? 1 : 0;
        return;
      }
      std::swap(next, treeOf(*last));
      withElements(next, [&](auto &below) {
        std::swap(treeOf(*last), treeOf(*below.begin()));
        std::swap(treeOf(*below.begin()), tree);
      });
      ++depth;
    });
    std::swap(tree, next);
  }
}

/// Frees an object of a tree's value. It is null if an exception has interrupted its creation.
template <typename T> void release(T *object) noexcept {
  if (!object)
    return;
  std::destroy_at(object);
  std::allocator<T>().deallocate(object, 1);
}

template <typename Elements> void releaseElements(Elements *elements) noexcept {
  if (elements)
    for (auto &element : *elements)
      clear(std::move(treeOf(element)));
  release(elements);
}

template <typename Value> void destroy(Value &value, Type type) noexcept {
  if (type == Type::object)
    releaseElements(value.object);
  else if (type == Type::array)
    releaseElements(value.array);
  else if (type == Type::string)
    release(value.string);
  else if (type == Type::binary)
    release(value.binary);
}

/// An object if each element of the list is a pair that begins with a string, else an array.
template <typename Tree> Tree ofList(typename Tree::initializer_list_t list, bool deduces, Type wanted) {
  const bool isObject = (deduces || wanted == Type::object) && std::all_of(list.begin(), list.end(), [](const auto &element) {
                          return element->is_array() && element->size() == 2 && (*element)[0].is_string();
                        });
  if (!deduces && wanted == Type::object && !isObject)
    throw std::invalid_argument("a JSON object needs a list of pairs that begin with a string");
  Tree made(isObject ? Type::object : Type::array);
  for (const auto &element : list) {
    Tree tree = element.moved_or_copied();
    if (isObject)
      made.template get_ref<typename Tree::object_t &>().emplace(std::move(tree[0].template get_ref<std::string &>()), std::move(tree[1]));
    else
      made.push_back(std::move(tree));
  }
  return made;
}

} // namespace json_memory
} // namespace npar

template <> inline void npar::Json::json_value::destroy(value_t type) { npar::json_memory::destroy(*this, type); }
template <> inline void npar::OrderedJson::json_value::destroy(value_t type) { npar::json_memory::destroy(*this, type); }
template <>
inline npar::Json::basic_json(initializer_list_t list, bool deduces, value_t wanted)
    : basic_json(npar::json_memory::ofList<npar::Json>(list, deduces, wanted)) {}
template <>
inline npar::OrderedJson::basic_json(initializer_list_t list, bool deduces, value_t wanted)
    : basic_json(npar::json_memory::ofList<npar::OrderedJson>(list, deduces, wanted)) {}
