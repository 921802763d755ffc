#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/lines.h"

namespace gpt2::cli {

/// The share of the lines that a process takes: those whose number modulo `count` is `index`. The
/// record of a line does not depend on the share that it is in.
struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;
  std::string source = {};  ///< the origin of the share: "--shard", or environment variables

  /// Whether the process takes a share at all. --shard 0/1 is a share, too.
  [[nodiscard]] bool is_share() const noexcept { return !source.empty(); }
  [[nodiscard]] bool takes(std::size_t line) const noexcept { return line % count == index; }
};

/// The file to which a share of `output` is written: "OUT.1-of-3".
[[nodiscard]] std::string shard_file(const std::string& output, std::size_t index,
                                     std::size_t count);

/// Returns the share that `argument` gives: "I/N", "/N" (a launcher gives I), or "all". Without an
/// argument, the share that a launcher gives: mpirun, srun or an indexed job of Kubernetes, which
/// needs /N. A process that a launcher has started alone takes all lines. Throws UsageError if the
/// argument is anything else, or if no index below the number of shares is given.
[[nodiscard]] Shard choose_shard(const std::optional<std::string>& argument);

/// Joins the files of the shares of `output`, in the order of the lines, with NewFile. The number
/// of lines is that of `input`. Returns the number of records with errors. Throws Error if `output`
/// exists or if records are missing; the message names the missing records.
std::size_t merge_shards(const InputFile& input, const std::string& output);

}  // namespace gpt2::cli
