// Writes what a help has, section by section.
#include "tools/npar/manual/ManualPage.h"

#include "tools/npar/terminal/ExitCode.h"

#include <cctype>
#include <fmt/format.h>
#include <sstream>

namespace npar::driver {
namespace {

/// Text as troff reads it: no escape, no hyphen that becomes a dash, no line that is a request.
std::string plain(const std::string &text) {
  std::string safe;
  for (size_t i = 0; i < text.size(); ++i) {
    bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (text[i] == '.' || text[i] == '\''))
      safe += "\\&";
    safe += text[i] == '\\' ? "\\e" : text[i] == '-' ? "\\-" : text[i] == '\'' ? "\\(aq" : std::string(1, text[i]);
  }
  return safe;
}

std::string bold(const std::string &text) { return "\\fB" + plain(text) + "\\fR"; }

/// A list that may continue on the next line after each comma.
std::string breakable(const std::string &list) {
  std::string text;
  for (char letter : list)
    text += letter == ',' ? ",\\:" : std::string(1, letter);
  return text;
}

/// The first line, which lists of commands show.
std::string summaryOf(const CLI::App &app) {
  std::string text = app.get_description();
  return text.substr(0, text.find('\n'));
}

/// Lines that begin with two blanks are commands, which keep their form; others are paragraphs.
std::string paragraphs(const std::string &text) {
  std::string page;
  bool inExample = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    bool isExample = line.rfind("  ", 0) == 0;
    if (isExample != inExample)
      page += isExample ? ".PP\n.nf\n.RS\n" : ".RE\n.fi\n";
    inExample = isExample;
    page += line.empty() ? ".PP\n" : plain(isExample ? line.substr(2) : line) + "\n";
  }
  return page + (inExample ? ".RE\n.fi\n" : "");
}

std::string nameOf(const CLI::App &app) { return app.get_parent() ? nameOf(*app.get_parent()) + " " + app.get_name() : "npar"; }

std::string usageOf(const CLI::App &app) {
  std::string words = bold(nameOf(app)) + " [" + "\\fIOPTIONS\\fR]";
  for (const CLI::Option *option : app.get_options([](const CLI::Option *each) { return each->get_positional(); }))
    words += fmt::format(option->get_required() ? " \\fI{}\\fR" : " [\\fI{}\\fR]", plain(option->get_name(true)));
  if (!app.get_subcommands([](const CLI::App *each) { return !each->get_group().empty(); }).empty())
    words += " [\\fICOMMAND\\fR]";
  return words + (app.get_prefix_command() ? " \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]" : "") + "\n";
}

/// Arguments and flags of a command, by the groups of its help.
std::string optionsOf(const CLI::App &app) {
  std::string page;
  auto add = [&](const CLI::Option *option, bool isPositional) {
    std::string values = option->get_type_size() != 0 || isPositional ? option->get_type_name() : "";
    page += ".TP\n" + bold(isPositional ? option->get_name(true) : option->get_name(false, true)) +
            (values.empty() || isPositional ? "" : " \\fI" + breakable(plain(values)) + "\\fR") + "\n" + plain(option->get_description()) +
            "\n";
  };
  for (const CLI::Option *option : app.get_options([](const CLI::Option *each) { return each->get_positional(); }))
    add(option, true);
  for (const std::string &group : app.get_groups()) {
    std::vector<const CLI::Option *> options =
        app.get_options([&](const CLI::Option *each) { return each->get_group() == group && each->nonpositional(); });
    if (group.empty() || options.empty())
      continue;
    if (group != "Options") // the section has this name
      page += ".PP\n" + bold(group + ":") + "\n";
    for (const CLI::Option *option : options)
      add(option, false);
  }
  return page;
}

/// A subcommand as a part of its command's page.
std::string subcommand(const CLI::App &app) {
  return ".SS " + plain(nameOf(app)) + "\n" + paragraphs(app.get_description()) + ".PP\n" + usageOf(app) + optionsOf(app);
}

std::string commands(const CLI::App &app) {
  std::string list, parts;
  for (const CLI::App *each : app.get_subcommands([](const CLI::App *command) { return !command->get_group().empty(); })) {
    if (app.get_parent())
      parts += subcommand(*each);
    else
      list += ".TP\n\\fBnpar\\-" + plain(each->get_name()) + "\\fR(1)\n" + plain(summaryOf(*each)) + "\n";
  }
  return list.empty() && parts.empty() ? "" : ".SH COMMANDS\n" + list + parts;
}

} // namespace

std::string manualPage(const CLI::App &app) {
  bool isDriver = !app.get_parent();
  std::string name = isDriver ? "npar" : "npar-" + app.get_name(), description = app.get_description();
  std::string summary = isDriver ? "train a model under any parallel plan" : summaryOf(app);
  std::string title = name;
  for (char &letter : title)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  std::string page = ".TH " + plain(title) + " 1 \"\" \"npar " NPAR_VERSION "\" \"User Commands\"\n.nh\n.ad l\n";
  page += ".SH NAME\n" + plain(name) + " \\- " + plain(summary) + "\n.SH SYNOPSIS\n" + usageOf(app);
  page += ".SH DESCRIPTION\n" + paragraphs(description) + ".SH OPTIONS\n" + optionsOf(app) + commands(app);
  page += ".SH EXIT STATUS\n" + plain(exitCodeText);
  return page + (isDriver ? "" : ".SH SEE ALSO\n\\fBnpar\\fR(1)\n");
}

} // namespace npar::driver
