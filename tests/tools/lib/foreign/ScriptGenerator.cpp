// Writes scripts by a grammar. Loops count to small numbers, and every name has a value from the beginning.
#include "tests/tools/lib/foreign/ScriptGenerator.h"

namespace npar::foreign::shell::test {

std::string ScriptGenerator::plain() {
  return one({"a", "bc", "--flag", "--x=1", "8", "24", "x.y", "a_b", "path/to", "a\\ b", "\\\"q\\\"", "a=b", "7", "-1", "B"});
}

/// A plain word inside of double quotes. Beside `"${NAME[@]}"`, bash splits at a blank after a backslash there, which is not compared.
std::string ScriptGenerator::quotedPlain() {
  std::string word = plain();
  return word.find(' ') == std::string::npos ? word : "a";
}

std::string ScriptGenerator::sum(int depth) {
  if (depth <= 0 || below(3) == 0)
    return below(2) ? std::to_string(below(40)) : below(2) ? number() : "$" + number();
  switch (below(8)) {
  case 0:
    return "(" + sum(depth - 1) + ")";
  case 1:
    return one({"-", "!", "~", "+"}) + " " + sum(depth - 1);
  case 2:
    return sum(depth - 1) + " ? " + sum(depth - 1) + " : " + sum(depth - 1);
  case 3:
    return "(" + sum(depth - 1) + ") " + one({"/", "%"}) + " " + std::to_string(1 + below(9));
  case 4:
    return "(" + number() + one({" = ", " += ", " -= ", " *= "}) + sum(depth - 1) + ")";
  default:
    return sum(depth - 1) + " " + one({"+", "-", "*", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "&", "|", "^", "<<", ">>"}) + " " +
           sum(depth - 1);
  }
}

std::string ScriptGenerator::expansion(int depth, bool isQuoted) {
  std::string name = variable();
  switch (below(depth > 0 ? 22 : 4)) {
  case 0:
  case 1:
  case 2:
    return "${" + name + "}";
  case 3:
    return "${" + number() + "}";
  case 4:
    return "${" + name + ":-" + (isQuoted ? quotedPlain() : word(depth - 1)) + "}";
  case 5:
    return "${" + name + one({"-", ":+", "+", ":="}) + (isQuoted ? quotedPlain() : word(depth - 1)) + "}";
  case 6:
    return "${" + name + one({"#", "##", "%", "%%"}) + one({"a", "*a", "a*", "?", "*/", "/*", "[a-c]", "*[!x]", "b", "\"*\"", "x*.*"}) +
           "}";
  case 7:
    return "${" + name + one({"/", "//", "/#", "/%"}) + one({"a", "b*", "?", "[0-9]", "x"}) + "/" + one({"", "Z", "$V1", "\"p q\""}) + "}";
  case 8:
    return "${" + name + one({"^", "^^", ",", ",,"}) + "}";
  case 9:
    return "${" + name + ":" + std::to_string(below(4)) + (below(2) ? ":" + std::to_string(below(4)) : "") + "}";
  case 10:
    return "${#" + name + "}";
  case 11:
    return "$((" + sum(depth) + "))";
  case 12:
    return "${" + list() + "[@]}";
  case 13:
    return "${" + list() + "[*]}";
  case 14:
    return "${" + list() + "[" + std::to_string(below(3)) + "]}";
  case 15:
    return "${#" + list() + "[@]}";
  case 16:
    return "${" + list() + "[@]:" + std::to_string(below(3)) + (below(2) ? ":1" : "") + "}";
  case 17:
    return "$(echo " + word(depth - 1) + ")";
  case 18:
    return "$(printf '%s-%s' " + word(0) + " \"" + quoted(0) + "\")";
  case 19:
    return "${" + list() + "[@]" + one({"#?", "%?", "/a/b", "^^"}) + "}";
  case 20:
    return "${!R}";
  default:
    return "${!" + list() + "[@]}";
  }
}

std::string ScriptGenerator::quoted(int depth) {
  std::string text;
  for (size_t i = 0, count = below(4); i < count; ++i)
    text += below(2) ? expansion(depth, true) : one({"a b", " ", "x", "'", "--w 3", "\\$", "  y", "\\\\", "\\x"});
  return text;
}

std::string ScriptGenerator::word(int depth) {
  std::string text;
  for (size_t i = 0, count = 1 + below(3); i < count; ++i)
    switch (below(9)) {
    case 0:
      text += "'" + one({"a b", "", "$V0", "x", "\\", "\"", "--s 1"}) + "'";
      break;
    case 1:
    case 2:
      text += "\"" + quoted(depth) + "\"";
      break;
    case 3:
    case 4:
      text += expansion(depth, false);
      break;
    case 5:
      text += depth > 0 ? one({"{a,b}", "{1..3}", "{x,}", "{3..1}", "{1..7..3}", "$'t\\'x'", "{}", "{a}"}) : plain();
      break;
    default:
      text += plain();
    }
  return text;
}

std::string ScriptGenerator::words(int depth) {
  std::string text;
  for (size_t i = 0, count = below(4); i < count; ++i)
    text += (i > 0 ? " " : "") + word(depth);
  return text;
}

std::string ScriptGenerator::condition(int depth) {
  switch (below(depth > 0 ? 13 : 5)) {
  case 0:
    return "[ \"" + quoted(1) + "\" " + one({"=", "==", "!="}) + " \"" + quoted(1) + "\" ]";
  case 1:
    return "[ $" + number() + " " + one({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}) + " " + std::to_string(below(30)) + " ]";
  case 2:
    return "[ " + one({"-z", "-n"}) + " \"" + quoted(1) + "\" ]";
  case 3:
    return "[[ $" + variable() + " " + one({"=", "==", "!="}) + " " + one({"a*", "*b*", "?", "\"a b\"", "$V2", "\"$V1\"*", "[a-z]*", "8"}) +
           " ]]";
  case 4:
    return "(( " + sum(2) + " ))";
  case 5:
    return "! " + condition(0);
  case 6:
    return condition(depth - 1) + " && " + condition(depth - 1);
  case 7:
    return condition(depth - 1) + " || " + condition(depth - 1);
  case 8:
    return "[[ -n $" + variable() + " && ( $" + number() + " -gt 3 || -z $" + variable() + " ) ]]";
  case 9:
    return "[ \"$" + variable() + "\" = a -o $" + number() + " -lt 9 ]";
  case 10:
    return "[[ $" + number() + " " + one({"-eq", "-lt", "-ge"}) + " " + one({"3", "N1+2", "$N2*2", "N0", "-1"}) + " ]]";
  case 11:
    return one({"true", "false", ":"});
  default:
    return "[[ ! $" + variable() + " =~ ^a.*$ ]]";
  }
}

std::string ScriptGenerator::body(int depth) {
  std::string text;
  for (size_t i = 0, count = 1 + below(3); i < count; ++i)
    text += statement(depth);
  return text;
}

std::string ScriptGenerator::launch(int depth) {
  return "torchrun pretrain_gpt.py " + words(depth) + one({"", " \\\n  --last 1", " # comment"}) + "\n";
}

std::string ScriptGenerator::statement(int depth) {
  switch (below(depth > 0 ? 24 : 8)) {
  case 0:
  case 1:
    return variable() + "=" + word(2) + "\n";
  case 2:
    return variable() + "+=" + word(1) + "\n";
  case 3:
    return list() + "=(" + words(2) + ")\n";
  case 4:
    return list() + "+=(" + words(1) + ")\n";
  case 5:
    return number() + "=$((" + sum(3) + "))\n";
  case 6:
    return list() + "[" + std::to_string(below(4)) + "]=" + word(1) + "\n";
  case 7:
    return one({": ${V3:=", ": \"${V4:="}) == ": ${V3:=" ? ": ${V3:=" + plain() + "}\n" : "((" + number() + "++))\n";
  case 8:
  case 9:
    return "if " + condition(2) + "; then\n" + body(depth - 1) + (below(2) ? "elif " + condition(1) + "\nthen\n" + body(depth - 1) : "") +
           (below(2) ? "else\n" + body(depth - 1) : "") + "fi\n";
  case 10:
    return "case \"$" + variable() + "\" in\n" + one({"a*", "b|c", "\"a b\"", "[0-9]*", "$V1"}) + ")\n" + body(depth - 1) +
           one({";;", ";&", ";;&"}) + "\n(" + one({"*b*", "?", "''", "8"}) + ") " + body(depth - 1) + ";;\n" +
           (below(2) ? "*)\n" + body(depth - 1) + ";;\n" : "") + "esac\n";
  case 11: {
    std::string name = "L" + std::to_string(loops++);
    return "for " + name + " in " + words(1) + "; do\nV5=\"$V5$" + name + "\"\n" + body(depth - 1) +
           (below(4) == 0 ? condition(0) + " && break\n" : "") + "done\n";
  }
  case 12: {
    std::string name = "L" + std::to_string(loops++);
    return "for ((" + name + " = 0; " + name + " < " + std::to_string(below(4)) + "; " + name + "++)); do\n" +
           (below(3) == 0 ? condition(0) + " && continue\n" : "") + body(depth - 1) + "done\n";
  }
  case 13: {
    std::string name = "L" + std::to_string(loops++);
    return name + "=" + std::to_string(below(3)) + "\nwhile [ $" + name + " -lt 3 ]; do\n" + name + "=$((" + name + " + 1))\n" +
           body(depth - 1) + "done\n";
  }
  case 14: {
    std::string name = "f" + std::to_string(functions++);
    return name + "() {\n" + (below(2) ? "local V1=\"$1\"\n" : "") + body(0) + (below(3) == 0 ? condition(0) + " && return\n" : "") +
           "V0=\"$V0$#$1\"\n}\n" + name + " " + words(1) + "\n";
  }
  case 15:
    return variable() + "=$(cat <<" + one({"EOF", "'EOF'"}) + "\nx $V0 $((N0 + 1))\n y\nEOF\n)\n";
  case 16:
    return "cat > file.txt <<-EOF\n\t" + quoted(1) + "\n\tz\n\tEOF\n" + variable() + "=$(cat file.txt)\n";
  case 17:
    return "(" + variable() + "=gone; " + launch(1) + ")\n";
  case 18:
    return "eval \"" + variable() + "=\\\"\\${" + variable() + "}x\\\"\"\n";
  case 19:
    return "CMD=\"torchrun pretrain_gpt.py --c $" + number() + " ${" + variable() + "//\\'/}\"\n" + one({"$CMD\n", "$CMD --more\n"});
  case 20:
    return "set -- " + words(1) + "\n" + list() + "=(\"$@\" $# \"${1:-none}\")\n";
  case 21:
    return "{ " + condition(1) + " && " + variable() + "=yes; } || " + variable() + "=no\n";
  case 22:
    return "R=" + variable() + "\nV2=\"${!R}\"\n";
  default:
    return launch(2);
  }
}

std::string ScriptGenerator::script() {
  std::string text =
      "V0=a V1='a b' V2= V3=8 V4=path/to/x.y V5=\"B  c \"\nN0=3 N1=0 N2=16 N3=-2\nA0=() A1=(one 'two words' \"\") A2=($V3 x)\nR=V0\n";
  for (size_t i = 0, count = 3 + below(8); i < count; ++i)
    text += statement(2);
  return text + launch(2) +
         "torchrun pretrain_gpt.py \"$V0\" \"$V1\" \"$V2\" \"$V3\" \"$V4\" \"$V5\" $N0 $N1 $N2 $N3 \"${A0[@]}\" , \"${A1[@]}\" , "
         "\"${A2[@]}\"\n";
}

} // namespace npar::foreign::shell::test
