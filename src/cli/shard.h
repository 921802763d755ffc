#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace gpt2::cli {

/// Which share of the lines a process takes: those whose number, divided by `count`, leaves
/// `index`. The rest does not depend on shares, so a line has the same record in any of them.
struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;
  std::string source = {};  ///< where this is from: "--shard", or variables of the environment

  /// Whether the process takes a share at all. --shard 0/1 is a share, too.
  [[nodiscard]] bool is_share() const noexcept { return !source.empty(); }
  [[nodiscard]] bool takes(std::size_t line) const noexcept { return line % count == index; }
};

/// The file to which a share of `output` is written: "OUT.1-of-3".
[[nodiscard]] std::string shard_file(const std::string& output, std::size_t index,
                                     std::size_t count);

/// Returns the share that `argument` gives: "I/N", "all", "/N" (a launcher gives I), or none, so
/// that a launcher gives both. Launchers are known by their environment variables, and processes
/// that a launcher started alone take all lines. Throws UsageError for another argument, and if a
/// launcher gives an index without a number, an index that is not less than the number, or if two
/// launchers give different shares.
[[nodiscard]] Shard choose_shard(const std::optional<std::string>& argument);

}  // namespace gpt2::cli
