// Every decoder that npar knows changes each token for itself.
#include "engine/text/DecoderReader.h"

#include "engine/text/Component.h"
#include "engine/text/Fields.h"
#include "engine/text/NormalizerReader.h"
#include "engine/text/Quoted.h"

namespace npar::engine {
namespace {

bool isPlain(const Spelling &spelling) { return spelling.kind == Spelling::Kind::Plain; }

void readMetaspace(Fields &fields, Spelling &spelling) {
  spelling.kind = Spelling::Kind::Marked;
  spelling.mark = fields.text("replacement");
  std::string scheme = fields.text("prepend_scheme");
  bool prefix = fields.flag("add_prefix_space", scheme != "never");
  fields.ignore({"split", "str_rep"});
  if (spelling.mark.empty())
    fields.refuse("has no 'replacement'");
  spelling.firstLosesMarks = prefix && scheme != "never";
}

/// Marks become spaces.
Status readReplace(Fields &fields, Spelling &spelling) {
  TRY(FilePattern pattern, readFilePattern(fields.object("pattern"), "decoder 'Replace'"));
  if (pattern.text.empty() || fields.text("content") != " ")
    fields.refuse("replaces something else than a text by a space");
  spelling.kind = Spelling::Kind::Marked;
  spelling.mark = pattern.text;
  return {};
}

void readStrip(Fields &fields, Spelling &spelling) {
  if (fields.text("content") != " " || fields.number("start", 0) != 1 || fields.number("stop", 0) != 0)
    fields.refuse("takes something else away than one space before a text");
  spelling.dropsFirstSpace = true;
}

} // namespace

Result<Spelling> readDecoder(const Json &component, bool bytes) {
  Spelling spelling;
  bool fused = false;
  std::vector<const Json *> parts = flattened(component, "decoders");
  if (parts.empty())
    spelling.kind = bytes ? Spelling::Kind::ByteCharacters : Spelling::Kind::Spaced;
  for (const Json *part : parts) {
    std::string type = typeOf(*part);
    Fields fields(*part, "decoder " + inQuotes(type));
    fields.ignore({"type"});
    if (type == "ByteLevel" && isPlain(spelling)) {
      fields.ignore({"add_prefix_space", "trim_offsets", "use_regex"}); // of no effect here
      spelling.kind = Spelling::Kind::ByteCharacters;
    } else if (type == "Metaspace" && isPlain(spelling)) {
      readMetaspace(fields, spelling);
    } else if (type == "Replace" && isPlain(spelling)) {
      TRY_STATUS(readReplace(fields, spelling));
    } else if (type == "WordPiece" && isPlain(spelling)) {
      spelling.kind = Spelling::Kind::WordPiece;
      spelling.mark = fields.text("prefix");
      spelling.cleansUp = fields.flag("cleanup", true);
    } else if (type == "ByteFallback" && !fused) {
      spelling.byteNames = true;
    } else if (type == "Fuse") {
      fused = true;
    } else if (type == "Strip" && fused) {
      readStrip(fields, spelling);
    } else {
      return unknownComponent("decoder", *part,
                              "'ByteLevel', 'WordPiece', 'Metaspace', or 'Replace', 'ByteFallback', 'Fuse' and 'Strip' in this order");
    }
    TRY_STATUS(fields.status());
  }
  return spelling;
}

} // namespace npar::engine
