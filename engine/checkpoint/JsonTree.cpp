// Builds the tree from a stream of events, so that depth and names are seen before anything is kept.
#include "engine/checkpoint/JsonTree.h"

#include "engine/files/InsideFolder.h"

namespace npar::engine {

namespace {

class TreeBuilder {
public:
  explicit TreeBuilder(const JsonLimits &limits) : limits(limits) {}
  Json root;
  std::string wrong;

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string &) { return add(value); }
  bool string(std::string &value) { return add(std::move(value)); }
  bool binary(Json::binary_t &) { return fail("it holds binary data"); }
  bool start_object(size_t) { return begin(Json::object()); }
  bool start_array(size_t) { return begin(Json::array()); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(std::string &value) {
    name = std::move(value);
    return open.back()->contains(name) ? fail("the name " + files::quotedName(name) + " occurs twice") : true;
  }
  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &) {
    return fail("no valid JSON at byte " + std::to_string(position));
  }

private:
  bool fail(std::string what) {
    if (wrong.empty())
      wrong = std::move(what);
    return false;
  }
  Json *place(Json value) {
    if (open.empty())
      return &(root = std::move(value));
    if (open.back()->is_array())
      return &open.back()->emplace_back(std::move(value));
    return &((*open.back())[name] = std::move(value));
  }
  bool add(Json value) {
    if (++count > limits.values)
      return fail("it has more than " + std::to_string(limits.values) + " values");
    place(std::move(value));
    return true;
  }
  bool begin(Json value) {
    if (open.size() >= limits.depth)
      return fail("it nests deeper than " + std::to_string(limits.depth) + " levels");
    if (++count > limits.values)
      return fail("it has more than " + std::to_string(limits.values) + " values");
    open.push_back(place(std::move(value)));
    return true;
  }
  bool end() {
    open.pop_back();
    return true;
  }

  const JsonLimits limits;
  std::vector<Json *> open; ///< lists and objects around the place; what is open is the last of its parent, so it does not move
  std::string name;
  size_t count = 0;
};

} // namespace

Result<Json> parseJsonTree(const std::string &text, const JsonLimits &limits) {
  if (size_t zero = text.find('\0'); zero != std::string::npos) // which the scanner takes for the end of the text
    return Status::badInput("no valid JSON at byte " + std::to_string(zero + 1));
  TreeBuilder builder(limits);
  // nlohmann's scanner throws nothing here: errors go to parse_error.
  bool good = Json::sax_parse(text, &builder);
  if (!good || !builder.wrong.empty())
    return Status::badInput(builder.wrong.empty() ? "no valid JSON" : builder.wrong);
  return std::move(builder.root);
}

} // namespace npar::engine
