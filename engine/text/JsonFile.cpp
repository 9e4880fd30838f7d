// One pass of events over the file: a vocabulary of a hundred thousand tokens never becomes a tree.
#include "engine/text/JsonFile.h"

#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"

#include <limits>

namespace npar::engine {
namespace {

constexpr size_t deepest = 32, mostValues = 1'000'000;

/// Reads `model.vocab` and `model.merges` into lists and everything else into a tree.
class Reader {
public:
  Reader(TokenizerJson &result, VocabularyPlace where) : result(result), where(where) {}
  std::string wrong;

  bool null() { return scalar(nullptr); }
  bool boolean(bool value) { return scalar(value); }
  bool number_float(double value, const std::string &) { return place == Place::Scored ? score(value) : scalar(value); }
  bool binary(Json::binary_t &) { return fail("it has binary data"); }
  bool number_integer(int64_t value) {
    if (place == Place::Scored)
      return score(static_cast<double>(value));
    return place == Place::Vocabulary ? id(value) : scalar(value);
  }
  bool number_unsigned(uint64_t value) {
    if (place == Place::Scored)
      return score(static_cast<double>(value));
    if (place != Place::Vocabulary)
      return scalar(value);
    return id(value > uint64_t(std::numeric_limits<int64_t>::max()) ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(value));
  }

  bool string(std::string &value) {
    if (place == Place::Merges)
      return mergeText(value);
    if (place == Place::Scored && half++ == 0) {
      name = std::move(value);
      return true;
    }
    if (place != Place::Pair)
      return scalar(value);
    if (half == 2)
      return notAPair();
    (half++ == 0 ? pair.first : pair.second) = std::move(value);
    return true;
  }

  bool start_object(size_t) {
    if (place != Place::Tree)
      return unexpected("an object");
    bool isVocabulary = where == VocabularyPlace::IsTheFile ? depth == 0 : where == VocabularyPlace::InTheModel && isModels("vocab");
    if (isVocabulary) {
      place = Place::Vocabulary;
      result.vocabularyIsMap = true;
      return true;
    }
    return enter(Json::object());
  }
  bool end_object() {
    if (place == Place::Vocabulary) {
      place = Place::Tree;
      return true;
    }
    return leave();
  }
  bool start_array(size_t) {
    if (place == Place::List) {
      place = Place::Scored, half = 0;
      return true;
    }
    if (place == Place::Merges) {
      place = Place::Pair, half = 0;
      return true;
    }
    if (place != Place::Tree)
      return unexpected("a list");
    if (where == VocabularyPlace::InTheModel && isModels("vocab")) {
      place = Place::List;
      return true;
    }
    if (where == VocabularyPlace::InTheModel && isModels("merges")) {
      place = Place::Merges;
      return true;
    }
    return enter(Json::array());
  }
  bool end_array() {
    if (place == Place::Scored) {
      place = Place::List;
      return half == 2 || notScored();
    }
    if (place == Place::List) {
      place = Place::Tree;
      return true;
    }
    if (place == Place::Pair) {
      place = Place::Merges;
      return half == 2 ? addMerge() : notAPair();
    }
    if (place == Place::Merges) {
      place = Place::Tree;
      return true;
    }
    return leave();
  }

  bool key(std::string &value) {
    if (place == Place::Tree) {
      names.back() = value;
      bool twice = open.back()->contains(value) || (isModels("vocab") && std::exchange(sawVocabulary, true)) ||
                   (isModels("merges") && std::exchange(sawMerges, true));
      return twice ? fail("the key " + inQuotes(value) + " is there twice") : true;
    }
    name = std::move(value);
    return true;
  }
  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &) {
    return fail("it is no valid JSON at byte " + std::to_string(position));
  }

private:
  enum class Place { Tree, Vocabulary, Merges, Pair, List, Scored };

  bool fail(const std::string &what) {
    if (wrong.empty())
      wrong = what;
    return false;
  }
  bool unexpected(const std::string &what) {
    if (place == Place::Vocabulary)
      return fail("the id of token " + inQuotes(name) + " is " + what);
    return place == Place::List || place == Place::Scored ? notScored() : notAPair();
  }
  bool notAPair() { return fail("merge " + std::to_string(result.merges.size()) + " (from 0) is no pair of tokens"); }

  bool notScored() {
    return fail("token " + std::to_string(result.scores.size()) + " (from 0) of the vocabulary is no pair of a text and a score");
  }

  /// The value that comes next is the model's, under this key.
  bool isModels(const char *what) const { return depth == 2 && names[0] == "model" && names[1] == what; }

  bool id(int64_t value) {
    if (result.vocabulary.size() == mostTokens)
      return fail("its vocabulary has more than " + std::to_string(mostTokens) + " tokens");
    result.vocabulary.emplace_back(std::move(name), value);
    return true;
  }
  bool score(double value) {
    if (half++ != 1)
      return notScored();
    result.scores.push_back(value);
    return id(static_cast<int64_t>(result.vocabulary.size()));
  }
  bool mergeText(const std::string &text) {
    size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
      return notAPair();
    pair = {text.substr(0, space), text.substr(space + 1)};
    return addMerge();
  }
  bool addMerge() {
    if (pair.first.empty() || pair.second.empty())
      return notAPair();
    if (result.merges.size() == mostTokens)
      return fail("it has more than " + std::to_string(mostTokens) + " merges");
    result.merges.push_back(std::move(pair));
    pair = {};
    return true;
  }

  template <typename T> bool scalar(T value) {
    if (place != Place::Tree)
      return unexpected("no whole number");
    return put(Json(std::move(value))) != nullptr;
  }
  Json *put(Json value) {
    if (++values > mostValues) {
      fail("it has more than " + std::to_string(mostValues) + " values besides its vocabulary");
      return nullptr;
    }
    if (open.empty())
      return &(result.rest = std::move(value));
    if (open.back()->is_array()) {
      open.back()->push_back(std::move(value));
      return &open.back()->back();
    }
    return &((*open.back())[names.back()] = std::move(value));
  }
  bool enter(Json value) {
    if (depth == deepest)
      return fail("it is nested deeper than " + std::to_string(deepest));
    Json *entered = put(std::move(value));
    if (!entered)
      return false;
    open.push_back(entered);
    names.emplace_back();
    ++depth;
    return true;
  }
  bool leave() {
    open.pop_back();
    names.pop_back();
    --depth;
    return true;
  }

  TokenizerJson &result;
  VocabularyPlace where;
  Place place = Place::Tree;
  size_t depth = 0, values = 0;
  std::vector<Json *> open;       ///< objects and lists that are not over
  std::vector<std::string> names; ///< the key that each of them is at
  std::string name;               ///< a token whose id comes next
  std::pair<std::string, std::string> pair;
  int half = 0;
  bool sawVocabulary = false, sawMerges = false;
};

} // namespace

Result<TokenizerJson> parseTokenizerJson(std::string_view text, VocabularyPlace where) {
  if (size_t zero = text.find('\0'); zero != std::string_view::npos) // where the parser would take the text to end
    return Status::badInput("it is no valid JSON at byte " + std::to_string(zero + 1));
  TokenizerJson result;
  Reader reader(result, where);
  bool good = Json::sax_parse(text.begin(), text.end(), &reader);
  if (!good || !reader.wrong.empty())
    return Status::badInput(reader.wrong.empty() ? "it is no valid JSON" : reader.wrong);
  if (!result.rest.is_object() && !result.vocabularyIsMap)
    return Status::badInput("it is no JSON object");
  return result;
}

Result<TokenizerJson> readTokenizerJson(const std::string &path, VocabularyPlace where) {
  Result<std::string> bytes = readTokenizerFile(path);
  if (!bytes.ok())
    return bytes.status();
  Result<TokenizerJson> parsed = parseTokenizerJson(*bytes, where);
  return parsed.ok() ? std::move(parsed) : tokenizerFailure(path, parsed.status().message());
}

} // namespace npar::engine
