#include "cli/generate/talk.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/fail.h"
#include "cli/generate/output.h"
#include "cli/generate/prompt.h"
#include "cli/options/nearest.h"
#include "cli/terminal/console.h"
#include "cli/terminal/editor.h"
#include "cli/tokens.h"

namespace gpt2::cli {
namespace {

constexpr const char* kHelp =
    R"(Each line is appended to the text, and the model continues it. After an empty
line, it continues the text as it is. Ctrl-C stops the text. A line that begins
with a slash is a command:

  /again             write the last answer again, with other random numbers
  /reset             forget the text
  /save FILE         write the text to FILE, for /load and --state
  /load FILE         continue the text in FILE
  /set OPTION VALUE  change how the text is generated: /set top_k 10
  /help              print this
  /help OPTION       print what an option of /set does: /help top_k
  /quit or /exit     end, like Ctrl-D

To begin a text with a slash, type two: //
)";

// The options that /set can change in `writing`: those that choose tokens and end texts.
class SetOptions {
 public:
  explicit SetOptions(Writing& writing) : writing_(writing) {
    add_writing_options(options_, writing, /*of_one_text=*/true);
    options_.at("--keep").needed = "";  // a talk slides without --overflow
  }

  // Returns the option for a name such as top_k or top-k. Throws UsageError if there is none.
  [[nodiscard]] const Option& find(std::string name) const {
    std::ranges::replace(name, '_', '-');
    if (const Option* const option = options_.find("--" + name)) return *option;
    std::vector<std::string> names;
    for (const Option& known : options_.all()) names.push_back(known.name());
    const std::string meant = nearest("--" + name, names);
    throw UsageError("/set has no option '" + name + "'" +
                     (meant.empty() ? ": it changes only how tokens are drawn and where a text ends"
                                    : " (did you mean '" + meant.substr(2) + "'?)"));
  }

  // Changes the settings as `gpt2 generate --top-k 10` would, for the words "top_k 10".
  void read(const std::string& words) {
    const std::size_t space = std::min(words.find(' '), words.size());
    Arguments arguments = {find(words.substr(0, space)).name()};
    if (space < words.size()) arguments.push_back(words.substr(space + 1));
    options_.parse(arguments);
    take_given(writing_, options_);
  }

 private:
  Writing& writing_;
  Options options_{"/set", "Options of /set", ""};
};

// A text that grows in turns. A turn is a line and the answer to it.
class Talk {
 public:
  Talk(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer, Session session,
       const OptionsOf& options_of)
      : settings_(settings),
        tokenizer_(tokenizer),
        session_(std::move(session)),
        options_of_(options_of) {
    settings_.output.no_echo = true;
    print_drawn_seed();
    if (settings.dialog && !tokenizer->end_of_text()) {
      throw UsageError("--dialog",
                       "the model has no end-of-text token, which ends each turn: leave it out");
    }
  }

  // Handles a line, which may be a command. Returns false if the command ends the session.
  bool take(const std::string& line) {
    if (!line.starts_with('/')) {
      take_turn(line);
    } else if (line.starts_with("//")) {
      take_turn(line.substr(1));
    } else {
      return run_command(line);
    }
    return true;
  }

  [[nodiscard]] const Session& session() const { return session_; }

 private:
  void take_turn(const std::string& line) {
    std::vector<TokenId> tokens = tokens_of(line);
    if (tokens.empty() && (settings_.dialog || session_.position() == 0)) return;
    before_ = session_.fork();
    line_ = std::move(tokens);
    answer();
  }

  // Returns the tokens that the line adds to the text. In a dialog, every turn ends with the
  // end-of-text token. The session does not have this token after an answer, so it is added before
  // the line as well. In other texts, a line break separates an answer from the next line, as on
  // the terminal.
  [[nodiscard]] std::vector<TokenId> tokens_of(const std::string& line) const {
    if (line.empty()) return {};
    const bool is_first = session_.position() == 0;
    const TokenId last = is_first ? 0 : session_.tokens().back();
    if (!settings_.dialog) {
      const bool is_new_line = is_first || tokenizer_->bytes(last).ends_with('\n');
      return encode(*tokenizer_, is_new_line ? line : '\n' + line,
                    {.add_special_tokens = is_first});
    }
    const TokenId end = *tokenizer_->end_of_text();
    std::vector<TokenId> tokens = encode(*tokenizer_, line, {.add_special_tokens = false});
    if (!is_first && last != end) tokens.insert(tokens.begin(), end);
    tokens.push_back(end);
    return tokens;
  }

  // Generates the answer to line_ and writes it.
  void answer() {
    require_room();
    const std::size_t before = session_.position();
    const Prompt prompt{line_, ""};
    TextWriter writer(settings_, tokenizer_, prompt);
    GenerationOptions options = options_of_(settings_);
    note_interrupts();
    options.on_prompt = [](std::size_t, std::size_t) { return !interrupted(); };
    const auto write = [&](std::string_view piece) {
      writer.write(piece);
      return !interrupted();
    };
    const auto result = gpt2::generate(session_, *tokenizer_, line_, options, write);
    writer.end(result);
    if (settings_.output.stats) print_stats(result, session_, before);
  }

  // Refuses a line for which the context has no room, even after a slide.
  void require_room() const {
    const std::size_t capacity = session_.capacity();
    const std::size_t keep = settings_.writing.options.keep;
    if (session_.position() + line_.size() <= capacity) return;
    if (settings_.writing.options.overflow == Overflow::stop) {
      reject("the context of ", capacity, " tokens is full: /reset forgets the text");
    }
    if (keep + line_.size() < capacity) return;
    reject("the line has ", counted(line_.size(), "token"), ", but the model takes at most ",
           capacity - keep - 1, ": shorten it");
  }

  void again() {
    if (!before_) reject("there is no answer to write again");
    session_.assign(*before_);
    ++settings_.writing.options.sampling.sequence;
    answer();
  }

  void reset() {
    session_.rewind(0);
    before_.reset();
  }

  void load(const std::string& file) {
    session_ = load_session(session_.engine(), file);
    before_.reset();
  }

  void set(const std::string& words) {
    Writing changed = settings_.writing;
    SetOptions(changed).read(words);
    check_limits(changed, session_.model().config());
    settings_.writing = std::move(changed);
    print_drawn_seed();
  }

  [[nodiscard]] static std::string help(const std::string& option) {
    Writing defaults;
    return option.empty() ? kHelp : Options::help_on(SetOptions(defaults).find(option));
  }

  void print_drawn_seed() {
    if (!std::exchange(settings_.writing.draws_seed, false)) return;
    print_error(concat("the seed is ", settings_.writing.options.sampling.seed));
  }

  bool run_command(const std::string& line);

  GenerateSettings settings_;
  const std::optional<Tokenizer>& tokenizer_;
  Session session_;
  const OptionsOf& options_of_;
  std::optional<Session> before_;  // the session before the last turn
  std::vector<TokenId> line_;      // the tokens of the line of the last turn
};

bool Talk::run_command(const std::string& line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string name = line.substr(1, space - 1);
  const std::string argument = line.substr(std::min(space + 1, line.size()));
  // The form of each command, whose second word, if any, is required unless it is in brackets.
  static const std::map<std::string, std::string> kForms = {
      {"again", ""}, {"exit", ""},  {"help", " [OPTION]"}, {"load", " FILE"},
      {"quit", ""},  {"reset", ""}, {"save", " FILE"},     {"set", " OPTION VALUE"},
  };
  const auto form = kForms.find(name);
  if (form == kForms.end()) {
    reject("no command '/" + name + "': /help lists them; to begin a text with a slash, type two");
  }
  const bool is_optional = form->second.starts_with(" [");
  if (!is_optional && argument.empty() != form->second.empty()) {
    reject("expected /" + name + form->second);
  }
  if (name == "again") again();
  if (name == "help") std::fputs(help(argument).c_str(), stderr);
  if (name == "load") load(argument);
  if (name == "reset") reset();
  if (name == "save") save_session(session_, argument);
  if (name == "set") set(argument);
  return name != "quit" && name != "exit";
}

}  // namespace

void talk(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
          Session session, const OptionsOf& options_of) {
  Talk talk(settings, tokenizer, std::move(session), options_of);
  const bool by_hand = is_terminal(stdin);
  std::optional<LineEditor> editor;
  if (by_hand && is_terminal(stderr)) editor.emplace();
  std::optional<std::string> line = first_line(settings);
  bool goes_on = true;
  while (goes_on && !interrupted()) {
    if (!line) line = editor ? editor->read() : read_line();
    if (!line) break;
    try {
      goes_on = talk.take(*line);
    } catch (const std::runtime_error& error) {
      if (!by_hand) throw;
      print_error(error.what());
    }
    if (by_hand) forget_interrupts();
    line.reset();
  }
  if (!settings.state.to.empty()) save_session(talk.session(), settings.state.to);
}

}  // namespace gpt2::cli
