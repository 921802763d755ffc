#include "cli/inspect/view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "cli/terminal/console.h"
#include "cli/terminal/layout.h"
#include "gpt2/error.h"

namespace gpt2::cli {
namespace {

// The characters of a text, each with the bytes that do not belong to any as one.
std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> list;
  while (!text.empty()) {
    const std::size_t length = decode_utf8(text).length;
    list.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return list;
}

// Returns a text in which every character can be seen: a newline is \n, and a byte that is not
// UTF-8 is \xf0.
std::string visible(std::string_view text) {
  std::string result;
  for (const std::string& character : characters(text)) {
    const auto byte = static_cast<unsigned char>(character[0]);
    const bool is_control = byte < 0x20 || byte == 0x7f;
    if (character == "\n" || character == "\r" || character == "\t") {
      result += character == "\n" ? "\\n" : character == "\r" ? "\\r" : "\\t";
    } else if (is_control || decode_utf8(character).kind != Utf8Char::Kind::valid) {
      for (const char c : character) result += format("\\x%02x", static_cast<unsigned char>(c));
    } else {
      result += printable(character);
    }
  }
  return result;
}

// Returns the end of a text that is longer than this.
std::string end_of(const std::string& text, std::size_t columns) {
  const std::vector<std::string> list = characters(text);
  if (list.size() <= columns) return text;
  std::string result = "~";
  for (std::size_t i = list.size() - columns + 1; i < list.size(); ++i) result += list[i];
  return result;
}

// Returns the text in exactly this many columns: padded, or cut off with a "~". A character counts
// as one column.
std::string fitted(const std::string& text, std::size_t columns) {
  std::vector<std::string> list = characters(text);
  if (list.size() > columns) {
    list.resize(columns - 1);
    list.emplace_back("~");
  }
  std::string result;
  for (const std::string& character : list) result += character;
  return result + std::string(columns - list.size(), ' ');
}

class View {
 public:
  explicit View(const Report& report)
      : report_(report),
        config_(report.model.config()),
        plain_(!shows_colours(stdout)),
        columns_(std::max<std::size_t>(text_columns(stdout), 60)) {}

  [[nodiscard]] std::string text() const {
    return title() + compared() + tokens() + norms() + updates() + heads() + predictions();
  }

 private:
  [[nodiscard]] std::string title() const {
    const std::string name = report_.model_name + ":";
    const std::string facts =
        concat(counted(config_.n_layer, "block"), ", ", counted(config_.n_head, "head"), ", ",
               config_.n_embd, " dimensions; ", counted(report_.tokens.size(), "token"), "\n");
    return name + (name.size() + facts.size() <= columns_ ? " " : "\n") + facts;
  }

  // A token as it is shown: in quotes, because most begin with a space.
  [[nodiscard]] std::string shown(TokenId id) const {
    if (!report_.tokenizer) return std::to_string(id);
    return "'" + visible(report_.tokenizer->bytes(id)) + "'";
  }

  // The title of a section, what it shows, and the names of its columns.
  [[nodiscard]] std::string heading(const std::string& title, const std::string& what,
                                    const std::string& names) const {
    const std::string text = filled_paragraphs(title + ": " + what, columns_);
    const auto bold = [this](const std::string& line) {
      return plain_ || line.empty() ? line : "\033[1m" + line + "\033[0m";
    };
    return '\n' + text + (text.ends_with('\n') ? "" : "\n") + bold(names) +
           (names.empty() ? "" : "\n");
  }

  // A text in a colour of the terminal from green, for 0, to red, for 1 and more.
  [[nodiscard]] std::string coloured(const std::string& text, float share) const {
    if (plain_) return text;
    constexpr std::array<int, 6> kColours = {34, 70, 142, 178, 208, 196};  // of the 256
    const auto last = static_cast<float>(kColours.size() - 1);
    const float i = std::isnan(share) ? 0.0f : std::clamp(share * last, 0.0f, last);
    return concat("\033[38;5;", kColours[static_cast<std::size_t>(i)], "m", text, "\033[0m");
  }

  // One bar for each number, from the least of them to the greatest, after a line that takes `used`
  // columns. A bar for fewer than eight numbers would say little.
  [[nodiscard]] std::string sparkline(std::vector<float> numbers, std::size_t used) const {
    const std::size_t room = columns_ - std::min(columns_, used + 2);
    if (plain_ || numbers.size() < 2 || room < 8) return "";
    constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    numbers.resize(std::min(numbers.size(), room));
    float least = std::numeric_limits<float>::infinity(), greatest = -least;
    for (const float number : numbers) {
      if (!std::isfinite(number)) continue;
      least = std::min(least, number);
      greatest = std::max(greatest, number);
    }
    std::string line = "  ";
    for (const float number : numbers) {
      if (!std::isfinite(number)) {
        line += ' ';
        continue;
      }
      const float share = greatest > least ? (number - least) / (greatest - least) : 0.0f;
      line += kBars[static_cast<std::size_t>(share * 7.0f)];
    }
    return line;
  }

  [[nodiscard]] std::string likely(const std::vector<LikelyToken>& top, std::size_t columns) const {
    std::string text;
    for (const LikelyToken& token : top) {
      const std::string one = shown(token.id) + format(" %.2f", double{token.logprob});
      const std::string longer = text.empty() ? one : text + "  " + one;
      if (characters(longer).size() > columns) break;
      text = longer;
    }
    return text;
  }

  // The loss and the prediction of the next token on both sides, and how far they are apart.
  [[nodiscard]] std::string compared() const {
    if (!report_.compared) return "";
    const Comparison& other = *report_.compared;
    const auto side = [&](const std::string& name, const Inspection& found) {
      return fitted(end_of(name, 28), 28) + format("%8.4f  ", loss_of(found)) +
             likely(found.lens.back().back().top, columns_ - 38) + '\n';
    };
    std::string changes;
    for (const std::string& change : report_.changes) changes += ' ' + visible(change);
    std::string text =
        heading("Comparison",
                "the loss is the mean of -logprob, in nats" +
                    (changes.empty() ? "" : "; changed with" + changes),
                "                                loss  next token and logprob") +
        side(changes.empty() ? report_.model_name : "with the changes", report_.found) +
        side(other.name == report_.model_name ? "the same, as it is stored" : other.name,
             other.found);
    return other.distance.empty() ? text : text + distances();
  }

  [[nodiscard]] std::string distances() const {
    std::string text = heading(
        "Distance", "of the residual streams at the input of each LayerNorm, |x - other| / |other|",
        "                mean  largest at token");
    const auto& all = report_.compared->distance;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto at = static_cast<std::size_t>(std::ranges::max_element(all[i]) - all[i].begin());
      const std::string line =
          format("%-11s %8.2g %8.2g %8zu", norm_name(i, config_.n_layer).c_str(),
                 mean(all[i], [](float d) { return d; }), double{all[i][at]}, at);
      text += line + sparkline(all[i], line.size()) + '\n';
    }
    return text;
  }

  [[nodiscard]] std::string tokens() const {
    constexpr float kRed = 10.0f;  // nats
    std::string text =
        heading("Tokens", "log-probabilities in nats, and how many tokens were likelier (rank)",
                "                 logprob   rank  likeliest, with logprobs");
    for (std::size_t t = 0; t < report_.tokens.size(); ++t) {
      const TokenLogprob& score = report_.found.scores[t];
      const bool is_first = std::isnan(score.logprob);
      const std::string name = fitted(shown(report_.tokens[t]), 16);
      text += coloured(name, -score.logprob / kRed);
      text += is_first ? "       -      -\n"
                       : format("%8.2f %6zu  ", double{score.logprob}, score.rank) +
                             likely(score.top, columns_ - 34) + '\n';
    }
    return text;
  }

  // The mean over the tokens of a number of each.
  template <class Item, class Number>
  [[nodiscard]] static double mean(const std::vector<Item>& items, const Number& number) {
    double sum = 0.0;
    for (const Item& item : items) sum += number(item);
    return sum / static_cast<double>(items.size());
  }

  // The dimension that is furthest from the mean at most tokens, and at how many.
  [[nodiscard]] static std::pair<std::size_t, std::size_t> outlier(
      const std::vector<NormInspection>& norms) {
    std::map<std::size_t, std::size_t> counts;
    for (const NormInspection& norm : norms) ++counts[norm.outliers.front().dimension];
    return *std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  }

  [[nodiscard]] std::string norms() const {
    std::string text = heading(
        "LayerNorm",
        concat("means over the tokens; |x| and |y| are the lengths of the vectors before and after "
               "it; dim is the dimension that is furthest from the mean at most tokens",
               plain_ ? "" : "; a bar is |x| at one token"),
        "                mean  variance    |x|    |y|   dim tokens");
    for (std::size_t i = 0; i < report_.found.norms.size(); ++i) {
      const std::vector<NormInspection>& norms = report_.found.norms[i];
      std::vector<float> lengths;
      for (const NormInspection& norm : norms) lengths.push_back(norm.input_norm);
      const auto [dimension, tokens] = outlier(norms);
      const std::string line =
          format("%-11s %8.3f %9.3g %6.1f %6.1f %5zu %6zu", norm_name(i, config_.n_layer).c_str(),
                 mean(norms, [](auto& n) { return n.mean; }),
                 mean(norms, [](auto& n) { return n.variance; }),
                 mean(norms, [](auto& n) { return n.input_norm; }),
                 mean(norms, [](auto& n) { return n.output_norm; }), dimension, tokens);
      text += line + sparkline(lengths, line.size()) + '\n';
    }
    return text;
  }

  [[nodiscard]] std::string updates() const {
    std::string text = heading(
        "Residual stream",
        "means over the tokens: the length of what each half of a block adds, the length of the "
        "stream after it divided by that before, and the cosine of the angle between them",
        "             added  growth  cosine");
    for (std::size_t i = 0; i < report_.found.updates.size(); ++i) {
      const std::vector<UpdateInspection>& updates = report_.found.updates[i];
      const std::string name = concat("h.", i / 2, i % 2 == 0 ? ".attn" : ".mlp");
      text += format("%-11s %6.1f %7.3f %7.3f\n", name.c_str(),
                     mean(updates, [](auto& u) { return u.added_norm; }),
                     mean(updates, [](auto& u) { return u.growth; }),
                     mean(updates, [](auto& u) { return u.cosine; }));
    }
    return text;
  }

  // The head with the highest score of each kind.
  [[nodiscard]] std::string heads() const {
    const std::pair<const char*, std::optional<float> HeadInspection::*> kinds[] = {
        {"previous token", &HeadInspection::previous_token},
        {"first token", &HeadInspection::first_token},
        {"same token", &HeadInspection::duplicate_token},
        {"induction", &HeadInspection::induction}};
    std::string text = heading(
        "Heads", "block and head that look most at these tokens, and how much (0 to 1)", "");
    const bool is_single = report_.tokens.size() == 1;
    for (const auto& [name, score] : kinds) {
      float best = -1.0f;
      std::string head = is_single ? "-  (the text has one token)" : "-  (no token comes twice)";
      for (std::size_t layer = 0; layer < report_.found.heads.size(); ++layer) {
        for (std::size_t i = 0; i < config_.n_head; ++i) {
          const std::optional<float>& found = report_.found.heads[layer][i].*score;
          if (!found || !(*found > best)) continue;  // NaN is no score
          best = *found;
          head = concat(layer, ".", i) + format("  (%.2f)", double{best});
        }
      }
      text += format("%-16s ", name) + head + '\n';
    }
    return text;
  }

  [[nodiscard]] std::string predictions() const {
    std::string text =
        heading("Next token",
                "what the model would predict if it ended there (the logit lens); KL is the "
                "distance of this prediction from the last one, in nats",
                "after                        KL  likeliest, with logprobs");
    for (std::size_t layer = 0; layer < report_.found.lens.size(); ++layer) {
      const LensInspection& lens = report_.found.lens[layer].back();
      const std::string name = layer == 0 ? "the embeddings" : concat("block ", layer - 1);
      text += format("%-21s %9.3f  ", name.c_str(), double{lens.kl}) +
              likely(lens.top, columns_ - 34) + '\n';
    }
    return text;
  }

  const Report& report_;
  const Config& config_;
  const bool plain_;
  const std::size_t columns_;
};

}  // namespace

std::string view_of(const Report& report) { return View(report).text(); }

}  // namespace gpt2::cli
