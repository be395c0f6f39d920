from ._figures import write_figures as write_figures
from ._pages import page_html as page_html
from ._pages import write_page as write_page
from ._render import to_html as to_html
from ._render import to_markdown as to_markdown
from ._render import write_html as write_html
from ._render import write_markdown as write_markdown
from ._summarize import summarize as summarize
