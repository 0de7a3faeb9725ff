#include "apps/cli/flags/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kColumns = 80, kMarkdownColumns = 120;

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--line:#ccc;--soft:#555;--good:#060;--bad:#b00;--odd:#850}
@media(prefers-color-scheme:dark){:root{--line:#444;--soft:#aaa;--good:#6c6;--bad:#f77;--odd:#fb5}}
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;padding:1em;max-width:76em}
h1{font-size:1.5em}h2{font-size:1.25em;margin-top:2em}h3{font-size:1.05em}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{border-bottom:1px solid var(--line);padding:.25em .6em;text-align:left;vertical-align:top}
td.r,th.r{text-align:right;white-space:nowrap}
details{margin:.4em 0}summary{cursor:pointer}
code{font-family:ui-monospace,monospace}
small{color:var(--soft)}
.pass{color:var(--good)}.fail{color:var(--bad);font-weight:bold}
.unanswered{color:var(--odd);font-weight:bold})";

// Escaped, with `code` as elements.
std::string inline_html(const std::string& text) {
  const std::string escaped = escaped_html(text);
  std::string out;
  bool inside = false;
  for (const char c : escaped) {
    if (c != '`') {
      out += c;
      continue;
    }
    out += inside ? "</code>" : "<code>";
    inside = !inside;
  }
  return out;
}

std::string bullet(const std::string& item, std::size_t columns) {
  return wrapped(item, columns, "  ").replace(0, 1, "-");
}

// A bar would end the cell.
std::string cell(std::string text) {
  std::replace(text.begin(), text.end(), '|', '/');
  return text;
}

std::string markdown_table(const DocumentTable& t) {
  std::vector<std::string> head, rule;
  for (std::size_t i = 0; i < t.head.size(); ++i) {
    head.push_back(cell(t.head[i]));
    rule.emplace_back(t.align[i] == 'r' ? "---:" : "---");
  }
  std::string out = markdown_row(head) + markdown_row(rule);
  for (const auto& row : t.rows) {
    std::vector<std::string> cells;
    for (const std::string& text : row) cells.push_back(cell(text));
    out += markdown_row(cells);
  }
  return out;
}

std::string html_table(const DocumentTable& t) {
  std::string out = "<div class=wide><table>\n<tr>";
  const auto add = [&](const char* tag, std::size_t i, const std::string& text) {
    out += fmt::format("<{}{}>{}", tag, t.align[i] == 'r' ? " class=r" : "", inline_html(text));
  };
  for (std::size_t i = 0; i < t.head.size(); ++i) add("th", i, t.head[i]);
  for (const auto& row : t.rows) {
    out += "\n<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) add("td", i, row[i]);
  }
  return out + "\n</table></div>\n";
}

std::string plain_table(const DocumentTable& t) {
  std::vector<std::size_t> widths(t.head.size());
  const auto widen = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 1; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  };
  widen(t.head);
  for (const auto& row : t.rows) widen(row);
  std::size_t numbers = 0;
  for (const std::size_t w : widths) numbers += w > 0 ? w + 1 : 0;
  const std::size_t name = numbers + 12 < kColumns ? kColumns - numbers : 12;
  std::string out;
  const auto line = [&](const std::vector<std::string>& row) {
    // A long name has a line of its own.
    const bool fits = row[0].size() <= name;
    std::string text = fits ? fmt::format("{:<{}}", row[0], name)
                            : wrapped(row[0], kColumns, "") + std::string(name, ' ');
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format(" {:>{}}", row[i], widths[i]);
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  line(t.head);
  for (const auto& row : t.rows) line(row);
  return out;
}

}  // namespace

void Document::heading(int level, std::string text) {
  blocks_.push_back({Block::Kind::kHeading, level, std::move(text), {}, {}});
}
void Document::text(std::string paragraph) {
  blocks_.push_back({Block::Kind::kText, 0, std::move(paragraph), {}, {}});
}
void Document::list(std::vector<std::string> items) {
  blocks_.push_back({Block::Kind::kList, 0, {}, std::move(items), {}});
}
void Document::table(DocumentTable table) {
  blocks_.push_back({Block::Kind::kTable, 0, {}, {}, std::move(table)});
}
void Document::picture(std::string svg) {
  blocks_.push_back({Block::Kind::kPicture, 0, std::move(svg), {}, {}});
}
void Document::begin_fold(std::string title) {
  blocks_.push_back({Block::Kind::kFold, 0, std::move(title), {}, {}});
}
void Document::end_fold() { blocks_.push_back({Block::Kind::kEndFold, 0, {}, {}, {}}); }

std::string Document::markdown() const {
  std::string out = "# " + title_ + "\n";
  for (const Block& b : blocks_) {
    switch (b.kind) {
      case Block::Kind::kHeading:
        out +=
            fmt::format("\n{} {}\n", std::string(static_cast<std::size_t>(b.level), '#'), b.text);
        break;
      case Block::Kind::kText:
        out += "\n" + wrapped(b.text, kMarkdownColumns, "");
        break;
      case Block::Kind::kList:
        out += "\n";
        for (const std::string& item : b.items) out += bullet(item, kMarkdownColumns);
        break;
      case Block::Kind::kTable:
        out += "\n" + markdown_table(b.table);
        break;
      case Block::Kind::kPicture:
        break;
      case Block::Kind::kFold:
        out += fmt::format("\n#### {}\n", b.text);
        break;
      case Block::Kind::kEndFold:
        break;
    }
  }
  return out;
}

std::string Document::html() const {
  std::string body = fmt::format("<h1>{}</h1>\n", inline_html(title_));
  for (const Block& b : blocks_) {
    switch (b.kind) {
      case Block::Kind::kHeading:
        body += fmt::format("<h{}>{}</h{}>\n", b.level, inline_html(b.text), b.level);
        break;
      case Block::Kind::kText:
        body += fmt::format("<p>{}</p>\n", inline_html(b.text));
        break;
      case Block::Kind::kList:
        body += "<ul>\n";
        for (const std::string& item : b.items) body += "<li>" + inline_html(item) + "\n";
        body += "</ul>\n";
        break;
      case Block::Kind::kTable:
        body += html_table(b.table);
        break;
      case Block::Kind::kPicture:
        body += b.text;
        break;
      case Block::Kind::kFold:
        body += fmt::format("<details><summary>{}</summary>\n", inline_html(b.text));
        break;
      case Block::Kind::kEndFold:
        body += "</details>\n";
        break;
    }
  }
  return html_page(title_, body);
}

std::string Document::plain() const {
  std::string out = title_ + "\n";
  bool folded = false;
  for (const Block& b : blocks_) {
    if (b.kind == Block::Kind::kFold) folded = true;
    if (b.kind == Block::Kind::kEndFold) folded = false;
    if (folded) continue;
    switch (b.kind) {
      case Block::Kind::kHeading:
        out += "\n" + b.text + "\n";
        break;
      case Block::Kind::kText:
        out += "\n" + wrapped(b.text, kColumns, "");
        break;
      case Block::Kind::kList:
        out += "\n";
        for (const std::string& item : b.items) out += bullet(item, kColumns);
        break;
      case Block::Kind::kTable:
        out += "\n" + plain_table(b.table);
        break;
      case Block::Kind::kPicture:
      case Block::Kind::kFold:
      case Block::Kind::kEndFold:
        break;
    }
  }
  return out;
}

std::string html_page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=en><meta charset=utf-8>\n"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n{}</html>\n",
      escaped_html(title), kStyle, body);
}

}  // namespace orrery::cli
