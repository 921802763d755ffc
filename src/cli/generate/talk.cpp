#include "cli/generate/talk.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/new_file.h"
#include "base/paths.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/generate/output.h"
#include "cli/generate/prompt.h"
#include "cli/generate/state_file.h"
#include "cli/generate/talk_commands.h"
#include "cli/generate/talk_options.h"
#include "cli/lines/reader.h"
#include "cli/lines/records.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "cli/terminal/editor.h"
#include "cli/terminal/layout.h"
#include "cli/terminal/wrap.h"
#include "cli/tokens.h"

namespace gpt2::cli {
namespace {

// The tokens that were written, and the time that it took.
struct WrittenTokens {
  std::size_t tokens = 0;
  double seconds = 0.0;

  [[nodiscard]] std::string text() const {
    return counted(tokens, "token") +
           (seconds > 0.0 ? format(", %.1f tokens/s", static_cast<double>(tokens) / seconds) : "");
  }
};

// A line and the answer to it.
struct Turn {
  std::size_t begin;          // the position in the session
  std::vector<TokenId> line;  // its tokens
};

// A text that grows in turns.
class Talk {
 public:
  Talk(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer, Session session,
       const OptionsOf& options_of, bool by_hand)
      : settings_(settings),
        tokenizer_(tokenizer),
        session_(std::move(session)),
        options_of_(options_of),
        by_hand_(by_hand) {
    settings_.output.no_echo = true;
    print_drawn_seed();
    if (!settings.state.from.empty()) note_loaded(settings.state.from);
    if (settings.dialog && !tokenizer->end_of_text()) {
      throw UsageError("--dialog",
                       "the model has no end-of-text token, which ends each turn: leave it out");
    }
  }

  // Handles a line, which may be a command. Returns false if the command ends the session.
  bool take(const std::string& line) {
    if (by_hand_ && (line == "exit" || line == "quit")) {
      note("the line is left out of the text: /quit ends");
    } else if (!line.starts_with('/')) {
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
    if (tokens.empty()) {
      if (settings_.dialog) return note("the line is empty: type a turn of the dialog");
      require_text();
    }
    require_room(session_, tokens.size());
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
    const std::size_t before = session_.position();
    const std::size_t dropped = session_.dropped();
    const Prompt prompt{line_, ""};
    TextWriter writer(settings_, prompt);
    GenerationOptions options = options_of_(settings_);
    note_interrupts();
    options.on_prompt = [](std::size_t, std::size_t) { return !interrupted(); };
    WordWrapper wrapper(terminal_columns(stdout));
    const auto write = [&](std::string_view piece) {
      writer.write(wrapper.add(piece));
      return !interrupted();
    };
    const auto result = gpt2::generate(session_, *tokenizer_, line_, options, write);
    writer.write(wrapper.end());
    writer.end(result);
    if (!turns_.empty() && turns_.back().begin == before) turns_.pop_back();  // of /again
    turns_.push_back({before, line_});
    if (session_.dropped() != dropped) turns_.clear();  // only before_ still has the earlier text
    last_ = {result.tokens.size(), result.generation_seconds};
    all_.tokens += last_.tokens;
    all_.seconds += last_.seconds;
    if (settings_.output.stats) print_stats(result, session_, before);
  }

  // Refuses a line for which the context has no room after the text of a session, even after a
  // slide.
  void require_room(const Session& session, std::size_t tokens) const {
    const std::size_t capacity = session.capacity();
    const std::size_t keep = settings_.writing.options.keep;
    if (session.position() + tokens <= capacity) return;
    if (settings_.writing.options.overflow == Overflow::stop) {
      reject("the context of ", capacity, " tokens is full: /reset forgets the text");
    }
    if (keep + tokens < capacity) return;
    reject("the line has ", counted(tokens, "token"), ", but the model takes at most ",
           capacity - keep - 1, ": shorten it");
  }

  // Sets before_ and line_ to those of the last turn. After a turn was taken back, that is the one
  // before it, which is known unless the text has slid. Returns false if there is no such turn.
  bool find_turn() {
    if (before_) return true;
    if (turns_.empty()) return false;
    before_ = session_.fork();
    before_->rewind(turns_.back().begin);
    line_ = turns_.back().line;
    return true;
  }

  void again() {
    if (!find_turn()) reject("there is no answer to write again");
    require_room(*before_, line_.size());
    session_.assign(*before_);
    SamplingOptions& sampling = settings_.writing.options.sampling;
    ++sampling.sequence;
    if (sampling.temperature == 0.0f && !std::exchange(told_greedy_, true)) {
      note("the most likely tokens are the same each time: /set temperature 0.8 draws others");
    }
    answer();
  }

  void undo() {
    if (!find_turn()) reject("there is no line to take back");
    const std::size_t end = session_.position();
    session_.assign(*before_);
    before_.reset();
    const std::size_t begin = session_.position();
    if (!turns_.empty() && turns_.back().begin == begin) turns_.pop_back();
    note(concat("took back ", end > begin ? counted(end - begin, "token") : "a line",
                "; the text has ", counted(begin, "token")));
  }

  void forget_turns() {
    before_.reset();
    turns_.clear();
  }

  void reset() {
    session_.rewind(0);
    forget_turns();
  }

  // Returns the text, as far as the session still has it. Each turn of a dialog is a line.
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const TokenId token : session_.tokens()) {
      if (!tokenizer_->is_special(token)) {
        text += tokenizer_->bytes(token);
      } else if (settings_.dialog) {
        text += '\n';
      }
    }
    return text;
  }

  void load(const std::filesystem::path& file) {
    session_ = load_session(session_.engine(), file);
    forget_turns();
    note_loaded(file.string());
  }

  // Shows the end of the text as well, so that the user can go on with it. Like note(), prints
  // nothing unless the lines are typed.
  void note_loaded(const std::string& file) const {
    if (!by_hand_) return;
    constexpr std::size_t kShown = 200;  // bytes
    const std::string all = text();
    const std::size_t begin = place_to_cut(all, all.size() - std::min(all.size(), kShown));
    note(concat("loaded ", counted(session_.position(), "token"), " from ", file,
                begin > 0 ? ": ..." : ": ", all.substr(begin)));
  }

  void require_text() const {
    if (session_.position() == 0) reject(kEmptyText);
  }

  void save(const std::filesystem::path& file) const {
    require_text();
    save_state(session_, file);
    note(concat("saved the session, ", counted(session_.position(), "token"), ", to ",
                absolute(file).string(),
                ": /load and --state continue it; /write FILE writes a readable text"));
  }

  void write(const std::filesystem::path& file) const {
    require_text();
    if (is_there(link_target(file))) reject(file.string(), " exists: give another file");
    if (const std::string& state = settings_.state.to;
        !state.empty() && same_file(file, path_of(state))) {
      reject(file.string(), " is for --save-state: give another file");
    }
    std::string lines = text();
    if (!lines.ends_with('\n')) lines += '\n';
    NewFile out(file);
    out.write(std::as_bytes(std::span(lines)));
    out.commit();
    note(concat("wrote the text to ", absolute(file).string()));
    if (session_.dropped() == 0) return;
    print_error(concat("the file lacks ", counted(session_.dropped(), "token"),
                       " that no longer fitted the context"));
  }

  // Changes nothing if the new value is refused, now or when the options are used.
  void set(const std::string& words) {
    if (words.empty()) return print(option_values(settings_.writing));
    GenerateSettings changed = settings_;
    set_option(changed.writing, words);
    try {
      check_limits(changed.writing, session_.model().config(),
                   [](std::string_view field) { return std::string(field); });
      static_cast<void>(options_of_(changed));
    } catch (const UsageError& error) {
      reject(error.what());  // no mistake on the command line, as main() would report it
    }
    settings_ = std::move(changed);
    print_drawn_seed();
  }

  void print_talk_stats() const {
    print(concat("last answer  ", last_.text(), "\nall answers  ", all_.text(), "\ncontext      ",
                 session_.position(), " of ", counted(session_.capacity(), "token"), " used\n"));
  }

  static void print(const std::string& text) { write_stderr(text); }

  // Prints a note, unless the lines come from a file, whose author knows what they do.
  void note(const std::string& text) const {
    if (by_hand_) print_error(text);
  }

  void print_drawn_seed() {
    if (!std::exchange(settings_.writing.draws_seed, false)) return;
    print_error(concat("the seed is ", settings_.writing.options.sampling.seed));
  }

  bool run_command(const std::string& line);

  static constexpr const char* kEmptyText = "the text is still empty: type its beginning";

  GenerateSettings settings_;
  const std::optional<Tokenizer>& tokenizer_;
  Session session_;
  const OptionsOf& options_of_;
  bool by_hand_;
  std::optional<Session> before_;  // the session before the last turn
  std::vector<TokenId> line_;      // the tokens of the line of the last turn
  std::vector<Turn> turns_;        // those that can be taken back
  WrittenTokens last_, all_;
  bool told_greedy_ = false;  // whether /again has said that it writes the same answer
};

bool Talk::run_command(const std::string& line) {
  const auto [name, argument] = read_command(line);
  if (name == "again") again();
  if (name == "help") print(talk_help(argument, text_columns(stderr)));
  if (name == "load") load(file_of(argument));
  if (name == "reset") reset();
  if (name == "save") save(file_of(argument));
  if (name == "set") set(argument);
  if (name == "stats") print_talk_stats();
  if (name == "undo") undo();
  if (name == "unset") unset_option(settings_.writing, argument);
  if (name == "write") write(file_of(argument));
  return name != "quit" && name != "exit";
}

// The lines of a pipe or a file. A signal that is noted ends the wait for one.
class PipedLines {
 public:
  std::optional<std::string> next() {
    Line line;
    return lines_.next(line) ? std::optional(text_of(line)) : std::nullopt;
  }

 private:
  InputFile input_{"-"};
  LineReader lines_{input_.descriptor(), input_.name(), std::numeric_limits<std::size_t>::max()};
};

void greet(const std::string& name, const Model& model) {
  const std::string text = concat(name, ": ", model.parameter_count(), " parameters, a context of ",
                                  counted(model.config().n_positions, "token"),
                                  ". Type the beginning of a text; /help lists "
                                  "the commands, ",
                                  kEndKeys, " ends.");
  write_stderr(filled_paragraphs(printable(text), text_columns(stderr)));
}

// Throws the error that is being handled. Its message says in which line of the input the mistake
// is, unless `line` is 0 because the line is that of the command line, or standard output has
// failed, which is no mistake in a line.
[[noreturn]] void refuse_line(std::size_t line) {
  try {
    throw;
  } catch (const Error& error) {
    if (line == 0 || std::ferror(stdout) != 0) throw;
    throw Error(error.code(), about_line(line, error.what()));
  }
}

}  // namespace

void talk(const GenerateSettings& settings, const std::optional<Tokenizer>& tokenizer,
          Session session, const OptionsOf& options_of) {
  const bool by_hand = is_terminal(stdin);
  std::optional<LineEditor> editor;
  std::optional<PipedLines> piped;
  if (!by_hand) {
    piped.emplace();
    note_interrupts();
  } else if (is_terminal(stderr)) {
    editor.emplace(talk_completions);
    greet(settings.model.name, session.model());
  }
  Talk talk(settings, tokenizer, std::move(session), options_of, by_hand);
  const auto save = [&] {
    if (!settings.state.to.empty()) save_state(talk.session(), path_of(settings.state.to));
  };
  std::optional<std::string> line = first_line(settings);
  std::size_t number = 0;  // of the line, among those of standard input
  bool goes_on = true;
  while (goes_on && !interrupted()) {
    if (!line) {
      line = editor ? editor->read() : piped ? piped->next() : read_line();
      ++number;
    }
    if (!line) break;
    try {
      goes_on = talk.take(*line);
    } catch (const std::runtime_error& error) {
      if (!by_hand) {
        save();  // the answers so far
        refuse_line(number);
      }
      print_error(error.what());
    }
    if (by_hand) forget_ctrl_c();
    line.reset();
  }
  save();
}

}  // namespace gpt2::cli
