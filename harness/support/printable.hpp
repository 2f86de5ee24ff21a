#pragma once
// Makes text from outside safe to show in a message.

#include <string>
#include <string_view>

namespace gla_bench {

/// At most `most` bytes of a text in UTF-8. It is cut between two characters and then ends with
/// "...". Each control character becomes a '?', so that no message can be made to look like
/// another, to control a terminal or to fill it.
std::string printable(std::string_view text, std::size_t most);

/// The same with a '?' for every byte that is not ASCII, for bytes whose encoding is not known.
std::string printable_ascii(std::string_view text, std::size_t most);

}  // namespace gla_bench
