// A document of headings, paragraphs, lists and tables, which is written as Markdown, as an HTML
// page or as plain text.
#pragma once

#include <string>
#include <vector>

namespace orrery::cli {

struct DocumentTable {
  std::string align;  // a letter a column: l or r
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};

class Document {
 public:
  explicit Document(std::string title) : title_(std::move(title)) {}

  void heading(int level, std::string text);  // 2 or 3
  // Adds a paragraph. Text in backquotes is set as code.
  void text(std::string paragraph);
  void list(std::vector<std::string> items);
  void table(DocumentTable table);
  // Adds a picture (an <svg> element), which the HTML page alone shows.
  void picture(std::string svg);
  // Blocks between begin_fold and end_fold are details: Markdown puts them in a closed <details>
  // element, plain text leaves them out. Folds do not nest.
  void begin_fold(std::string title);
  void end_fold();

  std::string markdown() const;
  std::string html() const;   // self-contained, without scripts
  std::string plain() const;  // 80 columns; of tables the first column left, the others numbers

 private:
  struct Block {
    enum class Kind { kHeading, kText, kList, kTable, kPicture, kFold, kEndFold } kind;
    int level = 0;
    std::string text;
    std::vector<std::string> items;
    DocumentTable table;
  };
  std::string title_;
  std::vector<Block> blocks_;
};

// A self-contained page with this body, with a style for narrow and wide screens, light and dark.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace orrery::cli
