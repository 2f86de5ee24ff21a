#pragma once
// Text from outside as a message may show it.

#include <string>
#include <string_view>

namespace gla_bench {

/// At most `most` bytes of a text in UTF-8, cut between two characters and then ended with "...",
/// with a '?' for each control character: no message can be made to look like another, to drive a
/// terminal or to fill it.
std::string printable(std::string_view text, std::size_t most);

/// The same with a '?' for every byte that is not ASCII: for bytes that may be in no encoding.
std::string printable_ascii(std::string_view text, std::size_t most);

}  // namespace gla_bench
