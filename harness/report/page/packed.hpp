#pragma once
// How the page's data are packed inside the page.

#include <string>
#include <string_view>

namespace gla_bench {

/// The text compressed by zlib (RFC 1950) and written in base64 (RFC 4648). The browser reads it
/// back with DecompressionStream('deflate'). It consists of letters, digits, "+", "/" and "=", so
/// that no text of a record can end the element that holds it.
std::string packed(std::string_view text);

}  // namespace gla_bench
