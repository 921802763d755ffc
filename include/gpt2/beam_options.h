#pragma once

#include <cstddef>
#include <optional>

#include "gpt2/token_id.h"

namespace [[gnu::visibility("default")]] gpt2 {

/// Determines when a beam search ends, once the number of ended sequences has reached the number of
/// beams. HuggingFace's values of early_stopping are given in parentheses.
enum class EarlyStopping {
  no,     ///< (false) when no open beam is likely to end with a better score: the best sum of
          ///< log-probabilities in this step, divided by its current length, is no better than the
          ///< worst score in the list
  yes,    ///< (true) at once
  never,  ///< ("never") when no open beam can end with a better score: like `no`, but with a
          ///< positive length_penalty the sum is divided by the max length
};

/// The shape of a beam search, with HuggingFace's names, meanings and defaults.
///
/// A plain value: copies are independent.
///
/// Example:
///   const BeamOptions best_of_four = {.num_beams = 4};
///   BeamOptions diverse = {.num_beams = 6, .num_return_sequences = 3};
///   diverse.num_beam_groups = 3;
///   diverse.diversity_penalty = 0.5f;
struct BeamOptions {
  static constexpr std::size_t kMaxBeams = 1024;       ///< for num_beams
  static constexpr double kMaxLengthPenalty = 20.0;    ///< in either direction
  static constexpr float kMaxDiversityPenalty = 1e6f;  ///< for diversity_penalty

  /// How many beginnings of sequences the search keeps after each token, from 1 to kMaxBeams. Each
  /// beam takes the memory of a session (Session::memory_bytes), except for full blocks of tokens
  /// that it shares with other beams.
  std::size_t num_beams = 1;

  /// How many of the best sequences are returned, from 1 to num_beams.
  std::size_t num_return_sequences = 1;

  /// The score of a sequence is the sum of its log-probabilities, divided by the number of its
  /// tokens raised to this power, from -kMaxLengthPenalty to kMaxLengthPenalty. A token that ends
  /// the sequence counts as one; tokens of the prompt do not. 0 ranks sequences by their
  /// probability, which favours short ones. The sums are negative, so a larger power favours longer
  /// sequences.
  double length_penalty = 1.0;

  EarlyStopping early_stopping = EarlyStopping::no;  ///< when the search ends

  /// Diverse beam search (Vijayakumar et al. 2018, https://arxiv.org/abs/1610.02424): the beams are
  /// divided into this many groups, each of which runs its own search. Must divide num_beams.
  std::size_t num_beam_groups = 1;

  /// If there are groups: the amount that is subtracted from the log-probability of a token for
  /// each beam of an earlier group that has chosen this token in the same step. Above 0 and at most
  /// kMaxDiversityPenalty. Must be 0 if there is only one group.
  float diversity_penalty = 0.0f;

  /// If there are groups: when a group has ended, each of its beams counts as choosing this token
  /// in every later step. If it is not set, the first of the tokens that end a sequence is used.
  std::optional<TokenId> pad_token_id = {};
};

}  // namespace gpt2
