#include "cli/generate/generate.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/paths.h"
#include "base/system/process.h"
#include "base/text.h"
#include "cli/lines.h"
#include "cli/model.h"
#include "cli/options/request_options.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "requests/read/options.h"

namespace gpt2::cli {
namespace {

// A command of a talk, such as "/save FILE".
struct TalkCommand {
  std::string_view name;  // "save"
  std::string_view form;  // what follows the name, " FILE", in brackets if it may be left out
  std::string_view help;
};

constexpr TalkCommand kTalkCommands[] = {
    {"again", "", "write the last answer again, with other random numbers"},
    {"undo", "", "take back the last line and its answer"},
    {"reset", "", "forget the text"},
    {"save", " FILE", "save the session to FILE, for /load and --state alone"},
    {"load", " FILE", "continue the text of the session in FILE"},
    {"set", " [OPTION VALUE]", "change an option: /set top_k 10; alone, list all options"},
    {"unset", " OPTION", "give an option its default value again"},
    {"help", "", "print this"},
    {"quit", "", "end"},
};

constexpr const char* kBeforeCommands =
    R"(Each line is appended to the text, and the model continues it. A line break separates an
answer from the next line, and nothing separates a line from its answer. After an empty line, the
model continues the text as it is. Ctrl-C stops the text. A line that begins with a slash is a
command; to begin a text with a slash, type two:

)";

constexpr const char* kAfterCommands =
    R"(
/set stop \n ends each answer before its first line break. A value may also be JSON, such as
/set stop ["\n", "Tom:"]. It replaces what was set before.)";

constexpr const char* kBlanks = " \t";

// Splits "set top_k 10" after its first word.
std::pair<std::string, std::string> first_word(const std::string& text) {
  const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
  return {text.substr(0, end),
          text.substr(std::min(text.find_first_not_of(kBlanks, end), text.size()))};
}

// Reads a line that is a command, such as "/set top_k 10": its name and its argument, without
// blanks around it. Throws Error if there is no such command, or if the argument is missing or the
// command takes none.
std::pair<std::string, std::string> read_command(const std::string& line) {
  auto command_line = first_word(line.substr(1));
  auto& [name, argument] = command_line;
  argument.erase(argument.find_last_not_of(kBlanks) + 1);
  const auto* const command = std::ranges::find(kTalkCommands, name, &TalkCommand::name);
  if (command == std::end(kTalkCommands)) {
    reject("no command ", quote('/' + name),
           ": /help lists them; to begin a text with a slash, type two");
  }
  const bool is_optional = command->form.starts_with(" [");
  if (!is_optional && argument.empty() != command->form.empty()) {
    reject("expected /", name, command->form);
  }
  return command_line;
}

// Returns the text of /help.
std::string talk_help() {
  std::string rows;
  for (const TalkCommand& command : kTalkCommands) {
    std::string call = concat("  /", command.name, command.form);
    call.resize(23, ' ');
    rows += concat(call, command.help, "\n");
  }
  return filled_paragraphs(kBeforeCommands + rows + kAfterCommands);
}

// Returns the file that a command names. A ~ before the first slash is the home directory.
std::filesystem::path file_of(const std::string& name) {
  const std::filesystem::path file = with_home(path_of(name));
  if (!file.empty()) return file;
  reject(name, ": there is no home directory, because $", kHomeVariable, " is not set");
}

// A text that grows in turns.
class Talk {
 public:
  Talk(const GenerateSettings& settings, const Tokenizer& tokenizer, Session session,
       const TalkDraft& draft, bool by_hand)
      : settings_(settings),
        tokenizer_(tokenizer),
        session_(std::move(session)),
        draft_(draft),
        by_hand_(by_hand) {
    settings_.no_echo = true;
    read_arguments(settings_.request, [&] { return request_of(settings_.request, session_, {0}); });
    draw_seed(settings_.request);
    if (!settings.state.empty()) note_loaded(settings.state);
    if (settings.dialog && !tokenizer.end_of_text()) {
      throw UsageError("--dialog",
                       "the model has no end-of-text token, which ends each turn: leave it out");
    }
  }

  // Handles a line, which may be a command. Returns false if the command ends the session.
  bool take(const std::string& line) {
    const bool is_command = line.starts_with('/') && !line.starts_with("//");
    if (is_command) return run_command(line);
    take_turn(line.starts_with('/') ? line.substr(1) : line);
    return true;
  }

  [[nodiscard]] const Session& session() const { return session_; }

 private:
  void take_turn(const std::string& line) {
    const std::vector<TokenId> tokens = tokens_of(line);
    if (tokens.empty() && settings_.dialog) return;
    if (tokens.empty()) require_text();
    answer(session_.fork(), tokens);
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

  // Returns the request for an answer to a line.
  [[nodiscard]] CompletionRequest request_of(nlohmann::json body, const Session& session,
                                             const std::vector<TokenId>& line) const {
    body["prompt"] = line.empty() ? nlohmann::json() : nlohmann::json(line);
    const RequestContext context = {.tokenizer = tokenizer_,
                                    .config = session.model().config(),
                                    .defaults = settings_.defaults,
                                    .session = SessionRoom{session.position(), session.capacity()}};
    CompletionRequest request = read_generate_request(body, context);
    if (draft_.model) request.set_draft(*draft_.model);
    request.options.pending_draft = draft_.pending;
    return request;
  }

  // Writes the answer to a line that follows the text of the session `before`. Changes nothing if
  // the line is refused.
  void answer(Session before, std::vector<TokenId> line) {
    Session session = before.fork();
    CompletionRequest request = request_of(settings_.request, session, line);
    write_texts(session.engine(), &session, tokenizer_, settings_, std::move(request), "", [] {});
    session_ = std::move(session);
    before_ = std::move(before);
    line_ = std::move(line);
  }

  void again() {
    if (!before_) reject("there is no answer to write again");
    nlohmann::json& request = settings_.request;
    request["sequence"] = request.value("sequence", std::uint64_t{0}) + 1;
    answer(before_->fork(), line_);
  }

  void undo() {
    if (!before_) reject("there is no line to take back");
    session_ = *std::exchange(before_, std::nullopt);
    note("the text has " + counted(session_.position(), "token"));
  }

  void reset() {
    session_.rewind(0);
    before_.reset();
  }

  void load(const std::filesystem::path& file) {
    session_ = load_session(session_.engine(), file);
    before_.reset();
    note_loaded(file.string());
  }

  // Shows the end of the text as well, so that the user can go on with it.
  void note_loaded(const std::string& file) const {
    const auto tokens = session_.tokens();
    const auto end = tokens.last(std::min<std::size_t>(tokens.size(), 50));
    note(concat("loaded ", counted(tokens.size(), "token"), " from ", file,
                end.size() < tokens.size() ? ": ..." : ": ", tokenizer_->decode(end)));
  }

  void require_text() const {
    if (session_.position() == 0) reject("the text is still empty: type its beginning");
  }

  void save(const std::filesystem::path& file) const {
    require_text();
    save_state(session_, file);
    note(concat("saved the session, ", counted(session_.position(), "token"), ", to ",
                absolute(file).string(), ": /load and --state continue it"));
  }

  // Changes nothing if the new value is refused, now or when the options are used.
  void set(const std::string& words) {
    if (words.empty()) return write_stderr(option_values(settings_.request, settings_.defaults));
    nlohmann::json request = settings_.request;
    const auto [name, value] = first_word(words);
    set_option(request, name, value);
    static_cast<void>(request_of(request, session_, {0}));
    draw_seed(request);
    settings_.request = std::move(request);
  }

  // Prints a note, unless the lines come from a file, whose author knows what they do.
  void note(const std::string& text) const {
    if (by_hand_) print_error(text);
  }

  // Draws the seed of all answers if it is to be random.
  static void draw_seed(nlohmann::json& request) {
    if (!request.contains("seed") || !request["seed"].is_string()) return;
    request["seed"] = random_seed();
    print_error(concat("the seed is ", request["seed"].dump()));
  }

  bool run_command(const std::string& line) {
    const auto [name, argument] = read_command(line);
    if (name == "again") again();
    if (name == "help") write_stderr(talk_help());
    if (name == "load") load(file_of(argument));
    if (name == "reset") reset();
    if (name == "save") save(file_of(argument));
    if (name == "set") set(argument);
    if (name == "undo") undo();
    if (name == "unset") unset_option(settings_.request, argument);
    return name != "quit";
  }

  GenerateSettings settings_;
  const std::optional<Tokenizer> tokenizer_;  // is there
  Session session_;
  const TalkDraft& draft_;
  bool by_hand_;
  std::optional<Session> before_;  // the session before the last turn, unless that was taken back
  std::vector<TokenId> line_;      // the tokens of the line of the last turn
};

void greet(const std::string& name, const Model& model) {
  const std::string text =
      concat(name, ": ", model.parameter_count(), " parameters, a context of ",
             counted(model.config().n_positions, "token"),
             ". Type the beginning of a text; /help lists the commands, ", kEndKeys, " ends.");
  write_stderr(filled_paragraphs(printable(text)));
}

}  // namespace

void talk(const GenerateSettings& settings, const Tokenizer& tokenizer, Session session,
          const TalkDraft& draft, std::optional<std::string> line) {
  const bool by_hand = is_terminal(kStdin);
  std::optional<InputFile> input;
  std::optional<LineReader> lines;  // of a pipe or a file
  if (by_hand && is_terminal(kStderr)) {
    greet(settings.model.name, session.model());
  } else {
    input.emplace("-");
    lines.emplace(input->descriptor(), input->name(), std::numeric_limits<std::size_t>::max());
    if (!by_hand) note_interrupts();  // a signal that is noted ends the wait for a line
  }
  const auto next_line = [&]() -> std::optional<std::string> {
    Line next;
    if (!lines) return edit_line();
    return lines->next(next) ? std::optional(text_of(next)) : std::nullopt;
  };
  Talk talk(settings, tokenizer, std::move(session), draft, by_hand);
  const auto save = [&] {
    if (!settings.save_state.empty()) save_state(talk.session(), path_of(settings.save_state));
  };
  std::size_t number = 0;  // of the line, among those of standard input
  for (bool goes_on = true; goes_on && !interrupted(); line.reset()) {
    if (!line) {
      line = next_line();
      ++number;
    }
    if (!line) break;
    try {
      goes_on = talk.take(*line);
    } catch (const std::runtime_error& error) {
      if (!by_hand) {
        save();  // the answers so far
        // No line is to blame if it is that of the command line, or if standard output has failed.
        if (number == 0 || std::ferror(stdout) != 0) throw;
        reject(about_line(number, error.what()));
      }
      print_error(error.what());
    }
    if (by_hand) forget_ctrl_c();
  }
  save();
}

}  // namespace gpt2::cli
