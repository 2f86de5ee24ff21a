# cmake -DSKELETON=<index.html> -DFOLDER=<of page.js and page.css> -DTABLE=<the .cpp to write> -P this
#
# The page's policy names the script and the styles by their digests, so that nothing else that
# might find its way into the page runs.

# "sha256-..." of a file, as a policy spells it.
function(digest file result)
  file(SHA256 ${file} hex)
  string(APPEND hex "00")  # 32 bytes are ten groups of three, and two: the last is filled up
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING ${hex} ${at} 6 group)
    math(EXPR value "0x${group}")
    foreach(shift 18 12 6 0)
      math(EXPR place "(${value} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${place} 1 letter)
      string(APPEND text ${letter})
    endforeach()
  endforeach()
  string(SUBSTRING ${text} 0 43 text)
  set(${result} "sha256-${text}=" PARENT_SCOPE)
endfunction()

# A text as string literals that the compiler joins: one may be limited to 64 KiB.
function(literals text result)
  string(LENGTH "${text}" length)
  set(lines "")
  set(start 0)
  while(start LESS length)
    string(SUBSTRING "${text}" ${start} 16000 piece)
    string(APPEND lines "R\"gla_bench(${piece})gla_bench\"\n")
    math(EXPR start "${start} + 16000")
  endwhile()
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

file(READ ${SKELETON} page)
foreach(kind js css)
  set(file ${FOLDER}/page.${kind})
  file(READ ${file} text)
  string(REGEX MATCH "</script|</style|<!--" escape "${text}")
  if(escape)
    message(FATAL_ERROR "${file}: holds ${escape}, which would end its element")
  endif()
  digest(${file} digest)
  string(REPLACE "@${kind}_digest@" "${digest}" page "${page}")
  string(REPLACE "@${kind}@" "${text}" page "${page}")
endforeach()
string(FIND "${page}" "@data@" place)
if(place EQUAL -1)
  message(FATAL_ERROR "${SKELETON}: has no place for the data")
endif()
string(SUBSTRING "${page}" 0 ${place} before)
math(EXPR place "${place} + 6")
string(SUBSTRING "${page}" ${place} -1 after)
literals("${before}" before)
literals("${after}" after)
file(WRITE ${TABLE} "// Written by cmake/WriteEmbeddedPage.cmake.
#include \"harness/report/page/page.hpp\"

namespace gla_bench {

PageShell embedded_page() {
  static constexpr std::string_view before =
${before};
  static constexpr std::string_view after =
${after};
  return {before, after};
}

}  // namespace gla_bench
")
